"""What an embedder is: texts in, float32 vectors out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors that cosine compares.

    An embedder may also have `async def aembed(texts)`, the same as `embed` without blocking; without it,
    the async facade runs `embed` in threads, several at a time. `tiered_memory.testing.EmbedderContract`
    tests an embedder of one's own.
    """

    @property
    def id(self) -> str:
        """Names model and version, and whatever else changes the vectors, e.g. `openai:text-embedding-3-small:512`."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of each vector."""
        ...

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a text the model reads; None when there is no limit."""
        ...

    @property
    def floor(self) -> float | None:
        """The cosine in [-1, 1] from which a text counts as relevant for this model; None when not calibrated."""
        ...

    def fit(self, text: str) -> str:
        """The part of `text` that the model reads: `text` itself, or its first `max_tokens` tokens."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 vector for each text, as an array of shape [len(texts), dimensions].

        Any text has a vector that is finite and not zero, the same alone and in a batch; one longer than the
        model reads is cut as `fit` does. The array is the caller's to change. Raises `EmbeddingError` when the
        model or its provider fails.
        """
        ...
