"""LangGraph's InMemoryStore: a scope is a namespace."""
# /// script
# dependencies = ["langgraph-checkpoint==4.3.2", "numpy"]
# ///

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from typing import Any

os.environ["LANGSMITH_TRACING"] = "false"

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from protocol import Contender, K, Workload, serve


class LangGraphInMemory(Contender):
    """`put`, `batch` of puts, and `search`."""

    packages = ("langgraph-checkpoint", "numpy")
    on_redis = False

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        self.store: Any = None
        self._numbers = count()

    @property
    def index(self) -> dict[str, Any]:
        """What the store is to embed, and how."""
        embed = self.workload.embed
        return {
            "dims": self.workload.dimensions,
            "embed": lambda texts: [embed(text).tolist() for text in texts],
            "fields": ["text"],
        }

    def open(self) -> None:
        self.store = InMemoryStore(index=self.index)

    def add(self, text: str, scope: str) -> None:
        self.store.put((scope,), str(next(self._numbers)), {"text": text})

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        self.store.batch([PutOp((scope,), str(next(self._numbers)), {"text": text}) for text in texts])

    def recall(self, question: str, scope: str) -> Any:
        return self.store.search((scope,), query=question, limit=K)

    def texts(self, answer: Any) -> list[str]:
        return [item.value["text"] for item in answer]


if __name__ == "__main__":
    serve(LangGraphInMemory)
