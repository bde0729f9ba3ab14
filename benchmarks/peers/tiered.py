"""This package: semantic memory, by similarity alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from protocol import Contender, K, Workload, serve

from tiered_memory import memory


class _Prepared:
    id = "prepared"
    max_tokens = None
    floor = None

    def __init__(self, workload: Workload) -> None:
        self.dimensions = workload.dimensions
        self._workload = workload

    def fit(self, text: str) -> str:
        return text

    def embed(self, texts: Sequence[str]) -> Any:
        return np.stack([self._workload.embed(text) for text in texts])


class TieredMemory(Contender):
    """A handle for each scope, as an agent that serves many users holds them."""

    packages = ("tiered-memory", "redis")
    mode = "vector"

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        self._memory = memory(url, namespace=name, embedder=_Prepared(workload), mode=self.mode)
        self._handles = {scope: self._memory.scoped(scope) for scope in map(workload.scope, range(workload.scopes))}

    def open(self) -> None:
        self._memory.count()

    def add(self, text: str, scope: str) -> None:
        self._handles[scope].remember(text)

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        self._handles[scope].remember(list(texts))

    def recall(self, question: str, scope: str) -> Any:
        return self._handles[scope].recall(question, k=K, tier="semantic", threshold=-1)

    def texts(self, answer: Any) -> list[str]:
        return [hit.text for hit in answer]


if __name__ == "__main__":
    serve(TieredMemory)
