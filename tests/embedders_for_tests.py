"""Embedders with known vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

import numpy as np

VECTORS: dict[str, list[float]] = {
    "q": [1, 0, 0],
    "exact": [1, 0, 0],
    "near": [0.8, 0.6, 0],
    "edge": [0.7, 0.714142842854285, 0],
    "far": [0.6, 0.8, 0],
    "orth": [0, 1, 0],
    "neg": [-1, 0, 0],
}
"""The vectors of the words that tests use; their cosines with `q` are their first numbers."""


class TableEmbedder:
    """Looks texts up in a table; a text that isn't there gets a vector of its own, made from its digest."""

    floor = None
    max_tokens = None

    def __init__(
        self, table: Mapping[str, Sequence[float]] = VECTORS, *, id: str = "table", dimensions: int = 3
    ) -> None:
        self.id, self.dimensions = id, dimensions
        self.table = {text: np.asarray(vector, "f4") for text, vector in table.items()}
        self.calls: list[list[str]] = []

    def fit(self, text: str) -> str:
        return text

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.array([self.vector(text) for text in texts], dtype="f4").reshape(len(texts), self.dimensions)

    def vector(self, text: str) -> np.ndarray:
        found = self.table.get(text)
        if found is None:
            seed = int.from_bytes(sha256(text.encode()).digest()[:8], "big")
            found = np.random.default_rng(seed).normal(size=self.dimensions)
        return found


class MoodyEmbedder(TableEmbedder):
    """Raises `error` as long as there is one, and what `refused` has for a text; calls `meanwhile` once."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.refused: dict[str, Exception] = {}
        self.meanwhile: Callable[[], object] | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        if self.meanwhile:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        for error in (self.error, *(self.refused.get(text) for text in texts)):
            if error:
                raise error
        return super().embed(texts)
