"""LangGraph's RedisStore; it needs the server's JSON module."""
# /// script
# dependencies = [
#   "langgraph==1.2.24", "langgraph-checkpoint==4.3.2", "langgraph-checkpoint-redis==0.5.2",
#   "redis==8.1.0", "redisvl==0.28.0", "numpy",
# ]
# ///

from __future__ import annotations

from langgraph.store.redis import RedisStore
from langgraph_in_memory import LangGraphInMemory
from protocol import serve
from redis import Redis


class LangGraphRedis(LangGraphInMemory):
    """The same calls; only the store differs."""

    packages = ("langgraph-checkpoint-redis", "redis", "redisvl")
    on_redis = True

    def open(self) -> None:
        prefixes = {"store_prefix": f"{self.name}-store", "vector_prefix": f"{self.name}-vectors"}
        self.store = RedisStore(Redis.from_url(self.url), index=self.index, **prefixes)
        self.store.setup()


if __name__ == "__main__":
    serve(LangGraphRedis)
