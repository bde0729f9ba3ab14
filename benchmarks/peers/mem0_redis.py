"""mem0 on Redis without its language model (`infer=False`), and without what it downloads: by similarity alone."""
# /// script
# dependencies = ["mem0ai==2.2.1", "redisvl==0.8.2", "redis==6.4.0", "numpy"]
# ///

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": os.getcwd(), "OPENAI_API_KEY": "unused"}

from mem0 import Memory
from protocol import Contender, K, Workload, serve


class _Prepared:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
        return self._workload.embed(text).tolist()


class Mem0Redis(Contender):
    """`add` of a message or of several, and `search` without a threshold."""

    packages = ("mem0ai", "redisvl", "redis")

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        store = {"redis_url": url, "collection_name": name, "embedding_model_dims": workload.dimensions}
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "redis", "config": store}, "history_db_path": ":memory:"}
        )
        self._memory.embedding_model = _Prepared(workload)
        # what a store answers that has no search by words; here it needs a list of stop words, a download
        self._memory.vector_store.keyword_search = lambda **_: None

    def add(self, text: str, scope: str) -> None:
        self._memory.add(text, user_id=scope, infer=False)

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        self._memory.add([{"role": "user", "content": text} for text in texts], user_id=scope, infer=False)

    def recall(self, question: str, scope: str) -> Any:
        return self._memory.search(question, top_k=K, filters={"user_id": scope}, threshold=0.0)

    def texts(self, answer: Any) -> list[str]:
        return [found["memory"] for found in answer["results"]]


if __name__ == "__main__":
    serve(Mem0Redis)
