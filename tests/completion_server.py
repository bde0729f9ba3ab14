"""A real HTTP server on the loopback that speaks OpenAI's chat API, and answers as told."""

from __future__ import annotations

import json
from typing import Any

from embedding_server import Answer, EmbeddingServer, Received


class CompletionServer(EmbeddingServer):
    """Answers `POST /v1/chat/completions`; what is said next is scripted.

    Attributes:
        content: What the model says to every request.
        refusal: Why the model refuses, if it does.
        finish: Why the model stopped.
        status: The status of every answer.
        body: What is answered instead of a completion, if it isn't None.
    """

    def __init__(self) -> None:
        super().__init__()
        self.content: str | None = json.dumps({"entities": []})
        self.refusal: str | None = None
        self.finish = "stop"
        self.status = 200
        self.body: Any = None

    def says(self, *entities: tuple[Any, Any]) -> None:
        """Answers every request with these kinds and names."""
        self.content = json.dumps({"entities": [{"kind": kind, "name": name} for kind, name in entities]})

    def respond(self, received: Received) -> Answer:
        self.requests.append(received)
        self._closing.wait(self.delay)
        if self.status != 200:
            return Answer(self.status, {"error": {"message": str(received.body)}})
        if self.body is not None:
            return Answer(200, self.body)
        message = {"role": "assistant", "content": self.content, "refusal": self.refusal}
        choice = {"index": 0, "message": message, "finish_reason": self.finish}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        return Answer(200, body)
