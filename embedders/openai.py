"""Embeddings over OpenAI's API: from OpenAI itself, or from any server that speaks it."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tiered_memory.embedders.openai_clients import OpenAIClients
from tiered_memory.embedders.openai_errors import provider_errors
from tiered_memory.embedders.vectors import as_vectors
from tiered_memory.errors import ConfigError, EmbeddingError
from tiered_memory.tokens import TokenCounter, counter

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from tiered_memory.embedders.base import Vectors

OWN_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
"""OpenAI's own models and the length of their vectors."""

_SHORTENABLE = ("text-embedding-3-small", "text-embedding-3-large")


class OpenAIEmbedder:
    """Embeds with a model behind OpenAI's embeddings API, through the official client.

    Nothing is imported, opened or sent before the first text is embedded. `close` or `aclose` releases the
    connections; a client that was given is used as it is and stays open.

    Args:
        model: The model's name, as the server knows it.
        dimensions: The length of the vectors. OpenAI's `text-embedding-3-*` shorten theirs to it (their own:
            1536 and 3072); for a model that isn't OpenAI's it must be given, and is what the model has.
        send_dimensions: Whether a model that isn't OpenAI's is asked to shorten its vectors to `dimensions`;
            many servers refuse to be asked.
        base_url: Where a compatible server is; default: `OPENAI_BASE_URL`, else OpenAI.
        api_key: Default: `OPENAI_API_KEY`. For a server that wants none, pass any text.
        client: Your own `openai.OpenAI` for blocking use; its address, key, time-out and retries hold.
        async_client: Your own `openai.AsyncOpenAI` for async use, likewise.
        timeout: Seconds that one request may take.
        max_retries: How often a request is sent again after a rate limit, a fault of the server or of the
            network; the client waits as long as the server says (`retry-after`), else ever longer.
        max_batch: The most texts in a request (OpenAI's limit: 2048).
        max_batch_tokens: The most tokens in a request (OpenAI's limit: 300,000).
        max_tokens: The most tokens of a text that are embedded, counted in OpenAI's `cl100k_base`; the rest
            is cut off. None: no limit. A model that isn't OpenAI's counts otherwise: leave some room.
        floor: The cosine in [-1, 1] from which a text counts as relevant; None: not calibrated.
        id: Default: `openai:<model>`, with `:<dimensions>` when the vectors are shortened. The server isn't
            in it, so that an address may change; pass one if two servers give a name to different models.

    Raises `MissingExtra` without the `openai` package, and `ConfigError` for settings that don't fit.
    """

    def __init__(
        self,
        model: str = "text-embedding-3-small",
        *,
        dimensions: int | None = None,
        send_dimensions: bool = False,
        base_url: str | None = None,
        api_key: str | None = None,
        client: OpenAI | None = None,
        async_client: AsyncOpenAI | None = None,
        timeout: float = 30.0,
        max_retries: int = 2,
        max_batch: int = 2048,
        max_batch_tokens: int = 300_000,
        max_tokens: int | None = 8191,
        floor: float | None = None,
        id: str | None = None,
    ) -> None:
        _check_at_least(1, dimensions=dimensions, max_tokens=max_tokens)
        _check_at_least(1, max_batch=max_batch, max_batch_tokens=max_batch_tokens)
        _check_at_least(0, max_retries=max_retries)
        if not timeout > 0:
            raise ConfigError(f"timeout={timeout!r} must be more than 0 seconds")
        self.model = model
        self.dimensions = _dimensions(model, dimensions)
        self.max_tokens = max_tokens
        self.floor = floor
        self._shortens = send_dimensions or self.dimensions != OWN_DIMENSIONS.get(model, self.dimensions)
        self.id = id or (f"openai:{model}:{self.dimensions}" if self._shortens else f"openai:{model}")
        self._max_batch, self._max_batch_tokens = max_batch, max_batch_tokens
        self._clients = OpenAIClients(
            client, async_client, base_url=base_url, api_key=api_key, timeout=timeout, max_retries=max_retries
        )

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, dimensions={self.dimensions})"

    def fit(self, text: str) -> str:
        """`text`, or its first `max_tokens` tokens if it has more."""
        # A token is at least one byte, so a short text needs no tokenizer.
        if self.max_tokens is None or _bytes(text) <= self.max_tokens:
            return text
        return self._counter.cut(text, self.max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 vector for each text, shape [len(texts), dimensions], in as few requests as possible.

        Raises `EmbeddingRateLimited` when the provider still refuses after the retries, `EmbeddingError` for
        whatever else fails there, and `ConfigError` without an API key.
        """
        client = self._clients.blocking()
        requests = self._requests(texts, client)
        with provider_errors(self.id):
            return self._stack([self._read(client.embeddings.create(**each), each) for each in requests])

    async def aembed(self, texts: Sequence[str]) -> Vectors:
        """The same as `embed`, without blocking."""
        client = self._clients.nonblocking()
        requests = self._requests(texts, client)
        with provider_errors(self.id):
            return self._stack([self._read(await client.embeddings.create(**each), each) for each in requests])

    def close(self) -> None:
        """Closes the connections that `embed` opened."""
        self._clients.close()

    async def aclose(self) -> None:
        """Closes the connections that `embed` and `aembed` opened."""
        await self._clients.aclose()

    @cached_property
    def _counter(self) -> TokenCounter:
        return counter(encoding="cl100k_base")

    def _requests(self, texts: Sequence[str], client: OpenAI | AsyncOpenAI) -> list[dict[str, Any]]:
        fitting = [self.fit(text) for text in texts]
        # Ten times quicker to read than lists, but not every compatible server or gateway knows it.
        encoding = "base64" if client.base_url.host == "api.openai.com" else "float"
        options: dict[str, Any] = {"model": self.model, "encoding_format": encoding}
        if self._shortens:
            options["dimensions"] = self.dimensions
        parts = _batches(self._sizes(fitting), self._max_batch, self._max_batch_tokens)
        return [{"input": fitting[part], **options} for part in parts]

    def _sizes(self, texts: Sequence[str]) -> list[int]:
        upper_bounds = [_bytes(text) for text in texts]
        if sum(upper_bounds) <= self._max_batch_tokens:
            return upper_bounds
        return [self._counter.count(text) for text in texts]

    def _read(self, reply: Any, request: dict[str, Any]) -> Vectors:
        rows = [_decoded(item.embedding) for item in _in_order(reply.data, self.id)]
        return as_vectors(rows, len(request["input"]), self.dimensions, self.id)

    def _stack(self, parts: list[Vectors]) -> Vectors:
        return np.concatenate(parts) if parts else np.empty((0, self.dimensions), np.float32)


def _check_at_least(least: int, **settings: int | None) -> None:
    for name, value in settings.items():
        if value is not None and value < least:
            raise ConfigError(f"{name}={value!r} must be at least {least}")


def _dimensions(model: str, given: int | None) -> int:
    own = OWN_DIMENSIONS.get(model, given)
    if own is None:
        raise ConfigError(f"model={model!r} isn't OpenAI's own; pass dimensions=, the length of its vectors")
    if given is None or given == own:
        return own
    if given > own or model not in _SHORTENABLE:
        raise ConfigError(f"dimensions={given!r} is not what {model} gives; leave it out for {own}")
    return given


def _bytes(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _batches(sizes: Sequence[int], most: int, most_tokens: int) -> Iterator[slice]:
    """Consecutive parts of at most `most` texts and `most_tokens` tokens; a larger text makes up its own."""
    start = total = 0
    for place, size in enumerate(sizes):
        if place > start and (place - start == most or total + size > most_tokens):
            yield slice(start, place)
            start, total = place, 0
        total += size
    if sizes:
        yield slice(start, len(sizes))


def _in_order(items: Sequence[Any], source: str) -> list[Any]:
    """The items of a reply by their `index`; where a server leaves it out, an item's place is its index."""
    placed = {place if item.index is None else item.index: item for place, item in enumerate(items)}
    if placed.keys() != set(range(len(items))):
        raise EmbeddingError(f"{source} numbered its vectors so that they can't be matched with the texts")
    return [placed[place] for place in range(len(items))]


def _decoded(embedding: object) -> object:
    """Numbers as they are; base64 of little-endian float32 decoded, whether or not it was asked for."""
    return np.frombuffer(base64.b64decode(embedding), "<f4") if isinstance(embedding, str) else embedding
