"""What the product is measured against: cosine by brute force, BM25, and the blend of the `vector` mode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
from common import Vectors
from conversations import Collection
from numpy.typing import NDArray

from tiered_memory import EpisodicConfig
from tiered_memory.embedders import Embedder
from tiered_memory.terms import terms

Numbers = NDArray[np.float64]


class KeptVectors:
    """An embedder that embeds each text once, so that all methods see the same vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: dict[str, Any] = {}
        self.id, self.dimensions = embedder.id, embedder.dimensions
        self.max_tokens, self.floor = embedder.max_tokens, embedder.floor

    def fit(self, text: str) -> str:
        """As the embedder itself says."""
        return self._embedder.fit(text)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As the embedder itself says."""
        new = list(dict.fromkeys(text for text in texts if text not in self._kept))
        if new:
            self._kept.update(zip(new, self._embedder.embed(new), strict=True))
        return np.stack([self._kept[text] for text in texts])


class Cosines:
    """The cosine of each memory of a collection and a question, in float64."""

    def __init__(self, collection: Collection, embedder: KeptVectors) -> None:
        self._embedder = embedder
        self._units = _units(embedder.embed([memory.described for memory in collection.memories]))

    def __call__(self, question: str) -> Numbers:
        asked: Numbers = self._units @ _units(self._embedder.embed([question]))[0]
        return asked


class BM25:
    """BM25 with k1 1.2 and b 0.75 over the product's own terms; any of a question's terms will do."""

    def __init__(self, collection: Collection) -> None:
        rows = [Counter(terms(memory.described)) for memory in collection.memories]
        lengths = np.array([row.total() for row in rows], np.float64)
        self._damping = 1.2 * (0.25 + 0.75 * lengths / lengths.mean())
        self._counts: dict[str, Numbers] = {}
        for place, row in enumerate(rows):
            for term, count in row.items():
                self._counts.setdefault(term, np.zeros(len(rows)))[place] = count

    def __call__(self, question: str) -> Numbers:
        scores = np.zeros(len(self._damping))
        for term in set(terms(question)) & self._counts.keys():
            counts = self._counts[term]
            having = np.count_nonzero(counts)
            weight = log(1 + (len(counts) - having + 0.5) / (having + 0.5))
            scores += weight * counts * 2.2 / (counts + self._damping)
        return scores


def best(collection: Collection, scores: Numbers, k: int) -> list[str]:
    """The ids of the `k` memories with the highest scores, of equal ones the earlier first; none without a score."""
    order = np.argsort(-scores, kind="stable")[:k]
    return [collection.memories[place].id for place in order if scores[place] > 0]


def blended(collection: Collection, cosines: Numbers, floor: float) -> Numbers:
    """The scores of the `vector` mode at the collection's end; 0 below the embedder's floor."""
    scores = cosines
    if collection.tier == "episodic":
        config = EpisodicConfig()
        ages = np.array([(collection.end - memory.at) / config.half_life for memory in collection.memories])
        scores = (1 - config.weight) * cosines + config.weight * 0.5**ages
    return np.where(cosines < floor - 1e-6, 0, scores)


def is_best(found: list[str], collection: Collection, scores: Numbers, k: int) -> bool:
    """Whether these are the ids of the best `k`: but for the order of ties, within 1e-6."""
    expected = best(collection, scores, k)
    score_of = {memory.id: score for memory, score in zip(collection.memories, scores.tolist(), strict=True)}
    gaps = [abs(score_of[ours] - score_of[theirs]) for ours, theirs in zip(found, expected, strict=False)]
    return len(set(found)) == len(expected) and max(gaps, default=0.0) <= 1e-6


def _units(vectors: Vectors) -> Numbers:
    exact = np.asarray(vectors, np.float64)
    units: Numbers = exact / np.linalg.norm(exact, axis=1, keepdims=True)
    return units
