"""Redis's agent-memory-server, its library in this process: no HTTP, no language model."""
# /// script
# requires-python = ">=3.12,<3.13"
# dependencies = ["agent-memory-server==0.14.0", "mcp<2", "redis==8.1.0", "redisvl==0.28.0", "numpy"]
# ///

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import count
from typing import Any

# read when the package is imported; litellm would fetch its price list
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "OPENAI_API_KEY": "unused", "LOG_LEVEL": "WARNING"}
os.environ |= {"REDIS_URL": sys.argv[2], "REDISVL_INDEX_NAME": sys.argv[3], "REDISVL_INDEX_PREFIX": sys.argv[3]}
os.environ |= {"EMBEDDING_MODEL": "prepared", "USE_DOCKET": "false"}

from protocol import Contender, K, Workload, serve


class _Prepared:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload

    async def aembed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        return [self._workload.embed(text).tolist() for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self._workload.embed(text).tolist()


class RedisAgentMemory(Contender):
    """What its endpoints call: the vector database's `add_memories`, and `search_long_term_memories`.

    `index_long_term_memories` isn't used, which also has a language model look at each memory.
    """

    packages = ("agent-memory-server", "redis", "redisvl")

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        os.environ["REDISVL_VECTOR_DIMENSIONS"] = str(workload.dimensions)
        self._numbers = count()

    def open(self) -> None:
        from agent_memory_server import long_term_memory, memory_vector_db_factory
        from agent_memory_server.filters import UserId
        from agent_memory_server.models import MemoryRecord

        self._database = memory_vector_db_factory.create_redis_memory_vector_db(_Prepared(self.workload))
        memory_vector_db_factory._memory_vector_db = self._database
        self._record, self._user = MemoryRecord, UserId
        self._search = long_term_memory.search_long_term_memories

    def add(self, text: str, scope: str) -> Any:
        return self.add_many([text], scope)

    def add_many(self, texts: Sequence[str], scope: str) -> Any:
        return self._database.add_memories(
            [self._record(id=str(next(self._numbers)), text=text, user_id=scope) for text in texts]
        )

    def recall(self, question: str, scope: str) -> Any:
        return self._search(question, user_id=self._user(eq=scope), limit=K)

    def texts(self, answer: Any) -> list[str]:
        return [memory.text for memory in answer.memories]


if __name__ == "__main__":
    serve(RedisAgentMemory)
