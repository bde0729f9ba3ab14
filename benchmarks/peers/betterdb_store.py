"""betterdb-agent-memory's MemoryStore on Redis: a scope is a namespace."""
# /// script
# requires-python = ">=3.11"
# dependencies = ["betterdb-agent-memory==0.7.0", "valkey==6.2.0", "numpy"]
# ///

from __future__ import annotations

import os
from typing import Any

os.environ["BETTERDB_TELEMETRY"] = "false"

from betterdb_agent_memory import MemoryStore, RecallWeights
from protocol import Contender, K, Workload, serve
from valkey.asyncio import Valkey


class BetterDB(Contender):
    """`remember`, and `recall` by similarity alone that doesn't write what it found (`reinforce=False`)."""

    packages = ("betterdb-agent-memory", "valkey")
    batches = False

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        self._store: Any = None

    async def open(self) -> None:
        async def embed(text: str) -> list[float]:
            return self.workload.embed(text).tolist()

        similarity = RecallWeights(similarity=1, recency=0, importance=0)
        self._store = MemoryStore(
            client=Valkey.from_url(self.url), name=self.name, embed_fn=embed, default_threshold=2,
            weights=similarity, analytics=False,
        )  # fmt: skip
        await self._store.ensure_index()

    def add(self, text: str, scope: str) -> Any:
        return self._store.remember(text, namespace=scope)

    def recall(self, question: str, scope: str) -> Any:
        return self._store.recall(question, k=K, namespace=scope, reinforce=False)

    def texts(self, answer: Any) -> list[str]:
        return [hit.item.content for hit in answer]


if __name__ == "__main__":
    serve(BetterDB)
