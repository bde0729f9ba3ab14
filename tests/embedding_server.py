"""A real HTTP server on the loopback that speaks OpenAI's embeddings API, and misbehaves as told."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import numpy as np


@dataclass
class Received:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def texts(self) -> list[str]:
        return self.body["input"]


@dataclass
class Answer:
    """What is sent back: `body` as JSON, or as it is if it is bytes."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "application/json"})


def vector_of(text: str, dimensions: int) -> np.ndarray:
    """The vector that the server gives to `text`: float32, shape [dimensions], always the same."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimensions).astype(np.float32)


class EmbeddingServer:
    """Answers `POST /v1/embeddings`; a context manager that serves until it is left.

    Attributes:
        requests: All that was received, in order.
        dimensions: The length of the vectors when a request doesn't ask for one.
        encoding: `"float"` or `"base64"` to ignore what a request asks for.
        delay: Seconds before each answer.
        change: Alters the reply's `data` in place or returns another body.
    """

    def __init__(self, dimensions: int = 8) -> None:
        self.requests: list[Received] = []
        self.dimensions = dimensions
        self.encoding: str | None = None
        self.delay = 0.0
        self.change: Callable[[list[dict[str, Any]]], Any] | None = None
        self._scripted: deque[Answer] = deque()
        self._closing = Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def url(self) -> str:
        return f"{self.address}/v1"

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def fail(self, status: int, *, times: int = 1, code: str | None = None) -> None:
        """Fails the next `times` requests; quotes texts and key, and asks for a retry in 1 ms."""
        headers = {"content-type": "application/json", "retry-after-ms": "1"}
        self._scripted += [Answer(status, {"error": {"code": code}}, headers) for _ in range(times)]

    def answer(self, body: bytes, content_type: str = "application/json") -> None:
        """Answers the next request with `body`."""
        self._scripted.append(Answer(200, body, {"content-type": content_type}))

    def respond(self, received: Received) -> Answer:
        self.requests.append(received)
        self._closing.wait(self.delay)
        if not self._scripted:
            return Answer(body=self._embeddings(received.body))
        answer = self._scripted.popleft()
        if answer.status != 200:
            answer.body["error"]["message"] = f"refused: {received.texts} {received.headers['authorization']}"
        return answer

    def _embeddings(self, body: dict[str, Any]) -> Any:
        encoding = self.encoding or body.get("encoding_format", "float")
        dimensions = body.get("dimensions", self.dimensions)
        data = [
            {
                "object": "embedding",
                "index": place,
                "embedding": _encoded(vector_of(text, dimensions), encoding),
            }
            for place, text in enumerate(body["input"])
        ]
        changed = self.change(data) if self.change else None
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return changed or {"object": "list", "data": data, "model": body["model"], "usage": usage}


def _encoded(vector: np.ndarray, encoding: str) -> Any:
    return base64.b64encode(vector.tobytes()).decode() if encoding == "base64" else vector.tolist()


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._send(server.respond(Received(self.path, headers, body)))

        def _send(self, answer: Answer) -> None:
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            try:
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:
                # the client gave up waiting
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    return Handler
