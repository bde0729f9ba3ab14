"""redisvl's SemanticMessageHistory: a scope is a session."""
# /// script
# dependencies = ["redisvl==0.28.0", "redis==8.1.0", "numpy"]
# ///

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from protocol import Contender, K, Workload, serve
from redisvl.extensions.message_history import SemanticMessageHistory
from redisvl.utils.vectorize import CustomVectorizer


class RedisVLHistory(Contender):
    """`add_message`, `add_messages`, and `get_relevant` with the widest threshold."""

    packages = ("redisvl", "redis")

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        super().__init__(workload, url, name)
        self._history: Any = None

    def open(self) -> None:
        vectorizer = CustomVectorizer(embed=lambda text, **_: self.workload.embed(text).tolist(), dtype="float32")
        self._history = SemanticMessageHistory(
            name=self.name, redis_url=self.url, vectorizer=vectorizer, distance_threshold=2
        )

    def add(self, text: str, scope: str) -> None:
        self._history.add_message({"role": "user", "content": text}, session_tag=scope)

    def add_many(self, texts: Sequence[str], scope: str) -> None:
        self._history.add_messages([{"role": "user", "content": text} for text in texts], session_tag=scope)

    def recall(self, question: str, scope: str) -> Any:
        return self._history.get_relevant(question, top_k=K, session_tag=scope)

    def texts(self, answer: Any) -> list[str]:
        return [message["content"] for message in answer]


if __name__ == "__main__":
    serve(RedisVLHistory)
