"""Calling an embedder and checking what it answers, before anything of it is written or searched with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tiered_memory.embedders.failures import embedder_errors
from tiered_memory.errors import EmbeddingError
from tiered_memory.plan import Embedding

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Embedder


def default_embedder() -> Embedder:
    """The embedder that needs no extra and no network."""
    from tiered_memory.embedders.static import StaticEmbedder

    return StaticEmbedder()


def embed(embedder: Embedder, texts: Sequence[str], numbers: str) -> list[Embedding]:
    """The embeddings of `texts`, of numbers of this numpy type; raises `EmbeddingError` when they can't be used."""
    fitted = _fit(embedder, texts)
    with embedder_errors(f"embedder {embedder.id!r}"):
        vectors = embedder.embed(fitted)
    return _checked(embedder, vectors, texts, fitted, numbers)


async def aembed(embedder: Any, texts: Sequence[str], numbers: str) -> list[Embedding]:
    """As `embed`, for an embedder that has an async twin."""
    fitted = _fit(embedder, texts)
    with embedder_errors(f"embedder {embedder.id!r}"):
        vectors = await embedder.aembed(fitted)
    return _checked(embedder, vectors, texts, fitted, numbers)


def _fit(embedder: Embedder, texts: Sequence[str]) -> list[str]:
    return [embedder.fit(text) for text in texts]


def _checked(
    embedder: Embedder, vectors: Any, texts: Sequence[str], fitted: Sequence[str], numbers: str
) -> list[Embedding]:
    import numpy as np

    wanted = (len(texts), embedder.dimensions)
    try:
        array = np.ascontiguousarray(vectors, dtype="<f4")
    except (TypeError, ValueError):
        raise EmbeddingError(f"embedder {embedder.id!r} answered with something that is no array of numbers") from None
    if array.shape != wanted:
        raise EmbeddingError(f"embedder {embedder.id!r} answered with shape {list(array.shape)}, not {list(wanted)}")
    squares = np.einsum("ij,ij->i", array, array).tolist()
    for place, square in enumerate(squares):
        if not 0 < square < math.inf:
            error = EmbeddingError(f"embedder {embedder.id!r} answered with a vector that is zero or not finite")
            error.place = place
            raise error
    if numbers != array.dtype:
        # of unit length, since half as many bits hold neither very large nor very small numbers
        array = (array / np.sqrt(squares)[:, None]).astype(numbers)
    rows = zip(array, texts, fitted, strict=True)
    return [Embedding(row.tobytes(), part is not text and part != text) for row, text, part in rows]
