"""An embedder that keeps its vectors in Redis, so that no text is embedded twice."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tiered_memory.embedders.vectors import as_vectors
from tiered_memory.errors import EmbeddingError

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Embedder, Vectors

    Entries = Sequence[Mapping[str, Any] | None]

_log = logging.getLogger(__name__)


class VectorCache(Protocol):
    """What is used of redisvl's `EmbeddingsCache`."""

    def mget(self, contents: list[str], model_name: str, /) -> Entries:
        """For each content an entry with its `embedding`, or None."""
        ...

    def mset(self, items: list[dict[str, Any]], /) -> Any:
        """Stores items of `content`, `model_name` and `embedding`."""
        ...

    async def amget(self, contents: list[str], model_name: str, /) -> Entries:
        """The same as `mget`."""
        ...

    async def amset(self, items: list[dict[str, Any]], /) -> Any:
        """The same as `mset`."""
        ...


class CachedEmbedder:
    """Looks vectors up in a cache, and embeds only the texts that it doesn't hold.

    A call costs one look-up, and for what is missing one call of the embedder and one write. The cache holds
    digests, never texts. When it fails, texts are embedded without it, and a warning is logged once.

    Args:
        embedder: What embeds the missing texts; its `id` is part of the cache's keys.
        cache: redisvl's `EmbeddingsCache`, whose `ttl` says how long vectors are kept. Give its client a
            time-out: a cache that hangs is waited for.
    """

    def __init__(self, embedder: Embedder, cache: VectorCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self._warned = False
        self.id = embedder.id
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self.floor = embedder.floor

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._embedder!r})"

    def fit(self, text: str) -> str:
        """The part of `text` that the embedder's model reads."""
        return self._embedder.fit(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 vector for each text, shape [len(texts), dimensions].

        Raises what the embedder raises; a failing cache raises nothing.
        """
        lookup = _Lookup(texts, self.id, self.dimensions)
        with self._forgiving():
            lookup.found(self._cache.mget(lookup.keys, self.id))
        if lookup.missing:
            items = lookup.embedded(self._embedder.embed(lookup.missing))
            with self._forgiving():
                self._cache.mset(items)
        return lookup.vectors

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed`, without blocking."""
        lookup = _Lookup(texts, self.id, self.dimensions)
        with self._forgiving():
            lookup.found(await self._cache.amget(lookup.keys, self.id))
        if lookup.missing:
            items = lookup.embedded(await self._aembed_missing(lookup.missing))
            with self._forgiving():
                await self._cache.amset(items)
        return lookup.vectors

    async def _aembed_missing(self, texts: list[str]) -> Vectors:
        aembed = getattr(self._embedder, "aembed", None)
        vectors: Vectors = await (aembed(texts) if aembed else asyncio.to_thread(self._embedder.embed, texts))
        return vectors

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # Whatever is wrong with a cache, it must not stop the work.
            if not self._warned:
                _log.warning("the embedding cache failed (%s); going on without it", type(error).__name__)
            self._warned = True


class _Lookup:
    """The texts of one call, and those of their vectors that are known so far; it does no I/O."""

    def __init__(self, texts: Sequence[str], model: str, dimensions: int) -> None:
        self._texts = texts
        self._model = model
        self._dimensions = dimensions
        self._key_of = {text: _digest(text) for text in texts}
        self._known: dict[str, Vectors] = {}

    @property
    def keys(self) -> list[str]:
        return list(self._key_of.values())

    @property
    def missing(self) -> list[str]:
        return [text for text in self._key_of if text not in self._known]

    @property
    def vectors(self) -> Vectors:
        rows = [self._known[text] for text in self._texts]
        return np.stack(rows) if rows else np.empty((0, self._dimensions), np.float32)

    def found(self, entries: Entries) -> None:
        """Takes what the cache holds; an entry that isn't such a vector counts as missing."""
        for text, entry in zip(self._key_of, entries, strict=True):
            if entry is not None:
                with suppress(EmbeddingError):
                    self._known[text] = self._checked([entry["embedding"]])[0]

    def embedded(self, vectors: Vectors) -> list[dict[str, Any]]:
        """Takes the missing texts' vectors, and returns them as the cache stores them."""
        fresh = dict(zip(self.missing, self._checked(vectors, len(self.missing)), strict=True))
        self._known |= fresh
        return [
            {"content": self._key_of[text], "model_name": self._model, "embedding": vector.tolist()}
            for text, vector in fresh.items()
        ]

    def _checked(self, rows: Sequence[object] | Vectors, count: int = 1) -> Vectors:
        return as_vectors(rows, count, self._dimensions, self._model)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()
