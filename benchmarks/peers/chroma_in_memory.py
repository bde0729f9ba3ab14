"""chromadb in memory: a scope is a value of the metadata."""
# /// script
# dependencies = ["chromadb==1.5.9", "numpy"]
# ///

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import chromadb
from chromadb.config import Settings
from protocol import Contender, K, Workload, serve


class ChromaInMemory(Contender):
    """`add` of one document or of several, and `query`."""

    packages = ("chromadb",)
    on_redis = False

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        space = {"hnsw": {"space": "cosine"}}
        self._collection = client.create_collection(name, configuration=space, embedding_function=None)
        self._numbers = count()

    def add(self, text: str, scope: str) -> None:
        self.add_many([text], scope)

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        self._collection.add(
            ids=[str(next(self._numbers)) for _ in texts],
            documents=list(texts),
            embeddings=[self.workload.embed(text) for text in texts],
            metadatas=[{"scope": scope} for _ in texts],
        )

    def recall(self, question: str, scope: str) -> Any:
        return self._collection.query(
            query_embeddings=[self.workload.embed(question)], n_results=K, where={"scope": scope}
        )

    def texts(self, answer: Any) -> list[str]:
        return list(answer["documents"][0])


if __name__ == "__main__":
    serve(ChromaInMemory)
