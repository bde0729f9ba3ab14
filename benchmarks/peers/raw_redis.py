"""The floor: the least commands of redis-py that store a memory with its vector and find it in its scope."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from protocol import Contender, K, Workload, serve
from redis import Redis


class RawRedis(Contender):
    """One HSET a memory, one FT.SEARCH a recall, on a FLAT index with one tag."""

    packages = ("redis",)

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        self._redis = Redis.from_url(url, protocol=3)
        self._numbers = count()

    def open(self) -> None:
        vector = ("VECTOR", "FLAT", 6, "TYPE", "FLOAT32", "DIM", self.workload.dimensions, "DISTANCE_METRIC", "COSINE")
        fields = ("scope", "TAG", "text", "TEXT", "vector", *vector)
        self._redis.execute_command("FT.CREATE", self.name, "PREFIX", 1, f"{self.name}:", "SCHEMA", *fields)

    def add(self, text: str, scope: str) -> None:
        self._redis.execute_command(*self._hset(text, scope))

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        pipeline = self._redis.pipeline(transaction=False)
        for text in texts:
            pipeline.execute_command(*self._hset(text, scope))
        pipeline.execute()

    def recall(self, question: str, scope: str) -> Any:
        query = f"(@scope:{{{scope}}})=>[KNN {K} @vector $v AS distance]"
        given = ("PARAMS", 2, "v", self.workload.embed(question).tobytes(), "SORTBY", "distance", "LIMIT", 0, K)
        return self._redis.execute_command(
            "FT.SEARCH", self.name, query, *given, "RETURN", 2, "distance", "text", "DIALECT", 2
        )

    def texts(self, answer: Any) -> list[str]:
        return [found[b"extra_attributes"][b"text"].decode() for found in answer[b"results"]]

    def _hset(self, text: str, scope: str) -> tuple[Any, ...]:
        vector = self.workload.embed(text).tobytes()
        return ("HSET", f"{self.name}:{next(self._numbers)}", "text", text, "scope", scope, "vector", vector)


if __name__ == "__main__":
    serve(RawRedis)
