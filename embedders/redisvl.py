"""Embeddings from any vectorizer of redisvl: Hugging Face, Cohere, Mistral, Vertex AI, your own function."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from tiered_memory.embedders.failures import embedder_errors
from tiered_memory.embedders.vectors import as_vectors
from tiered_memory.errors import ConfigError
from tiered_memory.tokens import TokenCounter, counter

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Vectors


class Vectorizer(Protocol):
    """What is used of a redisvl vectorizer."""

    model: str
    dims: int | None

    def embed_many(self, contents: Any = ..., /, **options: Any) -> Any:
        """A list of vectors, each a list of numbers."""
        ...


class RedisVLEmbedder:
    """Embeds with a vectorizer of `redisvl.utils.vectorize`.

    Async use awaits the vectorizer if it can do so, and runs it in a thread if it would block.

    Args:
        vectorizer: The vectorizer; its cache, if it has one, is used.
        id: Default: `redisvl:<class>:<model>`. A vectorizer around your own function has no model to tell it
            by, and must be given an id; change the id when the function changes.
        batch_size: How many texts go into one call of the model; None: the vectorizer's own default.
        max_tokens: The most tokens of a text that are embedded, counted in OpenAI's `cl100k_base`; the rest
            is cut off. None: no limit, which leaves long texts to the model.
        floor: The cosine in [-1, 1] from which a text counts as relevant; None: not calibrated.

    Raises `ConfigError` when the vectorizer doesn't know its dimensions, or an id is needed.
    """

    def __init__(
        self,
        vectorizer: Vectorizer,
        *,
        id: str | None = None,
        batch_size: int | None = None,
        max_tokens: int | None = None,
        floor: float | None = None,
    ) -> None:
        self._vectorizer = vectorizer
        self._name = type(vectorizer).__name__
        self._options = {} if batch_size is None else {"batch_size": batch_size}
        self.dimensions = self._known_dimensions()
        self.id = id or self._known_id()
        self.max_tokens = max_tokens
        self.floor = floor

    def __repr__(self) -> str:
        return f"RedisVLEmbedder({self._name}, id={self.id!r}, dimensions={self.dimensions})"

    def fit(self, text: str) -> str:
        """`text`, or its first `max_tokens` tokens if it has more."""
        return text if self.max_tokens is None else self._counter.cut(text, self.max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 vector for each text, shape [len(texts), dimensions].

        Raises `EmbeddingError` when the vectorizer fails or answers with something else.
        """
        fitting = [self.fit(text) for text in texts]
        with self._vectorizer_errors():
            rows = self._vectorizer.embed_many(fitting, **self._options)
        return as_vectors(rows, len(fitting), self.dimensions, self.id)

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed`, without blocking."""
        if not _awaits(self._vectorizer):
            return await asyncio.to_thread(self.embed, texts)
        fitting = [self.fit(text) for text in texts]
        with self._vectorizer_errors():
            rows = await self._vectorizer.aembed_many(fitting, **self._options)  # type: ignore[attr-defined]
        return as_vectors(rows, len(fitting), self.dimensions, self.id)

    @cached_property
    def _counter(self) -> TokenCounter:
        return counter()

    def _known_dimensions(self) -> int:
        if self._vectorizer.dims is None:
            raise ConfigError(f"{self._name} doesn't know its dimensions; pass dims= to it")
        return self._vectorizer.dims

    def _known_id(self) -> str:
        if self._vectorizer.model == "custom":
            raise ConfigError(f"{self._name} wraps a function without a name; pass id=, e.g. id='my-model:1'")
        return f"redisvl:{self._name}:{self._vectorizer.model}"

    def _vectorizer_errors(self) -> AbstractContextManager[None]:
        """Each vectorizer raises what its library does."""
        return embedder_errors(f"{self.id}: {self._name}")


def _awaits(vectorizer: Vectorizer) -> bool:
    """Whether `aembed_many` really awaits; redisvl's base class and its custom one fall back to blocking."""
    hook = getattr(type(vectorizer), "_aembed_many", None)
    if hook is None or hook.__qualname__.startswith("BaseVectorizer."):
        return False
    return getattr(vectorizer, "_aembed_func_many", True) is not None
