"""The official OpenAI clients: made at first use, or given by the user."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tiered_memory.errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


class OpenAIClients:
    """One client for each mode, made from the same options when it is first asked for.

    A given client is used as it is and never closed. With only one given, the other mode is refused: it would
    be made from other settings, and might send texts to another server.
    """

    def __init__(self, client: OpenAI | None, async_client: AsyncOpenAI | None, **options: Any) -> None:
        if find_spec("openai") is None:
            raise MissingExtra("OpenAIEmbedder", "openai")
        self._given, self._given_async = client, async_client
        self._options = options
        self._made: OpenAI | None = None
        self._made_async: tuple[asyncio.AbstractEventLoop, AsyncOpenAI] | None = None

    def blocking(self) -> OpenAI:
        """The client for blocking calls; raises `ConfigError` when there is no API key."""
        if self._given is not None:
            return self._given
        if self._made is None:
            self._made = self._make("OpenAI", "client")
        return self._made

    def nonblocking(self) -> AsyncOpenAI:
        """The client for the running event loop; raises `ConfigError` when there is no API key."""
        if self._given_async is not None:
            return self._given_async
        loop = asyncio.get_running_loop()
        # Its connections belong to the loop that opened them, and fail in any other.
        if self._made_async is None or self._made_async[0] is not loop:
            self._made_async = loop, self._make("AsyncOpenAI", "async_client")
        return self._made_async[1]

    def _make(self, kind: str, argument: str) -> Any:
        if self._given is not None or self._given_async is not None:
            raise ConfigError(f"only a client of the other mode was given; pass {argument}=openai.{kind}(...)")
        import openai

        try:
            return getattr(openai, kind)(**self._options)
        except openai.OpenAIError:
            raise ConfigError("OpenAI's API key is missing; pass api_key= or set OPENAI_API_KEY") from None

    def close(self) -> None:
        """Closes the connections of the blocking client, if one was made."""
        if self._made is not None:
            self._made.close()
            self._made = None

    async def aclose(self) -> None:
        """Closes the connections of both clients, as far as they were made."""
        self.close()
        if self._made_async is not None:
            await self._made_async[1].close()
            self._made_async = None
