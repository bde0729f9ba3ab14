"""The two runners of plans, blocking and async: the only place where commands are sent and texts are embedded."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, TypeVar

import redis.asyncio.retry
import redis.retry
from attrs import frozen
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError, NoScriptError, ResponseError, TimeoutError

from tiered_memory.config import MemoryConfig
from tiered_memory.engine import connect
from tiered_memory.engine.embeddings import aembed, default_embedder, embed
from tiered_memory.engine.exchange import aexchange, exchange
from tiered_memory.engine.faults import foreign_errors, ours
from tiered_memory.engine.index import NUMBERS, open_namespace
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import in_full
from tiered_memory.errors import StoreError, TieredMemoryError
from tiered_memory.plan import Call, Command, Commands, Embed, Later, Pause, Plan, Step

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Embedder
    from tiered_memory.engine.embedded import EmbeddedRedis

T = TypeVar("T")

_MANY_LATER = 50
"""How much may be left for later before even a hurried batch takes it along."""

_MOST_LATER = 2000
"""How much is kept; the oldest gives way."""

CLUSTER_PARTITIONS = 64
"""How many partitions a namespace has on a cluster, unless the configuration says otherwise."""


@frozen
class _Close:
    """Asks for a client to be closed."""

    client: Any


class _Engine:
    """What both runners have in common: everything but waiting."""

    asynchronous: bool

    def __init__(self, config: MemoryConfig) -> None:
        self.config = config
        self.embedder: Embedder = config.embedder or default_embedder()
        self._numbers = NUMBERS[config.vectors]
        self._client: Any = config.client
        self._pool: Any = None
        self._server: EmbeddedRedis | None = None
        self._keyspace: Keyspace | None = None
        self._later: deque[Later] = deque(maxlen=_MOST_LATER)
        self._took_along = False
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open" if self._keyspace else "not opened yet"
        return f"<{type(self).__name__} {self.config.namespace!r} [{state}]>"

    def _opening(self) -> Generator[Any, Any, Keyspace]:
        """Connects, looks at the server, and makes or checks the namespace."""
        self._check_open()
        cluster = yield from self._connecting()
        partitions = self.config.partitions or (CLUSTER_PARTITIONS if cluster else 1)
        embedder = self.embedder
        return (
            yield from open_namespace(
                self.config.namespace, partitions, embedder.id, embedder.dimensions, self.config.vectors
            )
        )

    def _connecting(self) -> Generator[Any, Any, bool]:
        """Makes the client, unless the caller did; answers whether it is one of a cluster."""
        own = self.config.client
        if own is not None:
            return connect.check_client(own, asynchronous=self.asynchronous) or (yield from connect.inspect()).cluster
        make = connect.nonblocking if self.asynchronous else connect.blocking
        if self._client is not None:
            yield _Close(self._client)
            self._pool = None
        url = yield Call(self._locate)
        self._client = make(self.config, url)
        server = yield from connect.inspect()
        if server.cluster:
            yield _Close(self._client)
            self._client = make(self.config, url, cluster=True)
        else:
            self._pool = self._client.connection_pool
        return server.cluster

    def _locate(self) -> str:
        """The URL of Redis; starts the embedded server when nothing says where another one is."""
        url = self.config.url or (None if self.config.data_dir else os.environ.get("REDIS_URL"))
        if url:
            return url
        if self._server is None:
            from tiered_memory.engine.embedded import EmbeddedRedis

            self._server = EmbeddedRedis.open(self.config.data_dir)
        return f"unix://{self._server.socket}"

    def _sending(self, step: Commands) -> Generator[Sequence[Command], list[Any], list[Any]]:
        """Sends a batch, and again in full the scripts that the server hasn't seen yet."""
        left = [] if step.hurried and len(self._later) < _MANY_LATER else self._taken_along()
        commands = (*left, *step.commands)
        replies = yield commands
        unseen = [place for place, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
        if unseen:
            again = yield [in_full(commands[place]) for place in unseen]
            for place, reply in zip(unseen, again, strict=True):
                replies[place] = reply
        replies = replies[len(left) :]
        if not step.keep_errors:
            for reply in replies:
                if isinstance(reply, Exception):
                    if "no such index" in str(reply):
                        self._keyspace = None  # so that the next call makes it anew
                    raise ours(reply) from None
        return replies

    def _taken_along(self) -> list[Command]:
        """What was left for later; other threads may take some of it at the same time."""
        left: dict[Callable[[list[Any]], Iterable[Command]], list[Any]] = {}
        with suppress(IndexError):
            while True:
                step = self._later.popleft()
                left.setdefault(step.make, []).append(step.left)
        taken = [command for make, steps in left.items() for command in make(steps)]
        if taken and not self._took_along:
            # a script that the server hasn't seen yet would run too late, after what follows it
            self._took_along = True
            taken[0] = in_full(taken[0])
        return taken

    def _pipeline(self, commands: Sequence[Command]) -> Any:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command, NEVER_DECODE=True)
        return pipeline

    def _retry(self, module: Any) -> dict[bool, Any]:
        """redis-py's own retry, by whether a batch may be sent twice."""
        backoff = ExponentialWithJitterBackoff(base=0.05, cap=1.0)
        faults = (ConnectionError, TimeoutError)
        return {
            repeatable: module.Retry(backoff, self.config.retries if repeatable else 0, faults)
            for repeatable in (True, False)
        }

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("this memory is closed; make a new one")

    def _retire(self) -> list[Any]:
        """The clients to close, if they were made here; nothing more is sent from now on."""
        self._closed = True
        client, self._client, self._pool = self._client, None, None
        return [] if client is None or self.config.client is not None else connect.with_its_own(client)

    def _release_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()


class BlockingRunner(_Engine):
    """Runs plans in the calling thread; one runner may serve many threads."""

    asynchronous = False

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self._lock = threading.RLock()
        self._retries = self._retry(redis.retry)

    def run(self, plan: Plan[T]) -> T:
        """The plan's result; whatever it raises is raised."""
        try:
            step = next(plan)
            while True:
                try:
                    answer = self._serve(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            plan.close()

    def close(self) -> None:
        """Gives back what was opened here; the caller's own client stays open."""
        if self._later and not self._closed:
            with suppress(TieredMemoryError):
                self._send(Commands((("PING",),)))
        for client in self._retire():
            client.close()
        self._release_server()

    def _serve(self, step: Step | _Close) -> Any:
        if isinstance(step, Commands):
            return self._send(step)
        if isinstance(step, Embed):
            return embed(self.embedder, step.texts, self._numbers)
        if isinstance(step, Later):
            return self._later.append(step)
        if isinstance(step, Pause):
            return time.sleep(step.seconds)
        if isinstance(step, Call):
            return step.function()
        if isinstance(step, _Close):
            return [client.close() for client in connect.with_its_own(step.client)]
        return self._keyspace or self._open()

    def _open(self) -> Keyspace:
        with self._lock, foreign_errors():
            if self._keyspace is None:
                self._keyspace = self.run(self._opening())
            return self._keyspace

    def _send(self, step: Commands) -> list[Any]:
        self._check_open()
        retry = self._retries[step.repeatable]
        sending = self._sending(step)
        with foreign_errors():
            commands = next(sending)
            try:
                while True:
                    replies = retry.call_with_retry(lambda: self._round_trip(commands), lambda _: None)  # noqa: B023
                    commands = sending.send(replies)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]

    def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        if self._pool is not None:
            return exchange(self._pool, commands)
        if len(commands) > 1:
            return self._pipeline(commands).execute(raise_on_error=False)  # type: ignore[no-any-return]
        try:
            return [self._client.execute_command(*commands[0], NEVER_DECODE=True)]
        except ResponseError as refusal:
            return [refusal]


class NonBlockingRunner(_Engine):
    """Runs plans on the event loop that it is first used on."""

    asynchronous = True

    def __init__(self, config: MemoryConfig) -> None:
        super().__init__(config)
        self._lock = asyncio.Lock()
        self._retries = self._retry(redis.asyncio.retry)

    async def run(self, plan: Plan[T]) -> T:
        """The plan's result; whatever it raises is raised."""
        try:
            step = next(plan)
            while True:
                try:
                    answer = await self._serve(step)
                except Exception as error:
                    step = plan.throw(error)
                else:
                    step = plan.send(answer)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        finally:
            plan.close()

    async def close(self) -> None:
        """Gives back what was opened here; the caller's own client stays open."""
        if self._later and not self._closed:
            with suppress(TieredMemoryError):
                await self._send(Commands((("PING",),)))
        for client in self._retire():
            await client.aclose()
        await asyncio.to_thread(self._release_server)

    async def _serve(self, step: Step | _Close) -> Any:
        if isinstance(step, Commands):
            return await self._send(step)
        if isinstance(step, Embed):
            if hasattr(self.embedder, "aembed"):
                return await aembed(self.embedder, step.texts, self._numbers)
            return await asyncio.to_thread(embed, self.embedder, step.texts, self._numbers)
        if isinstance(step, Later):
            return self._later.append(step)
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, Call):
            if step.awaited is not None:
                return await step.awaited()
            result = await asyncio.to_thread(step.function)
            return await result if isawaitable(result) else result
        if isinstance(step, _Close):
            return [await client.aclose() for client in connect.with_its_own(step.client)]
        return self._keyspace or await self._open()

    async def _open(self) -> Keyspace:
        async with self._lock:
            with foreign_errors():
                if self._keyspace is None:
                    self._keyspace = await self.run(self._opening())
                return self._keyspace

    async def _send(self, step: Commands) -> list[Any]:
        async def give_up(error: Exception) -> None:
            del error

        self._check_open()
        retry = self._retries[step.repeatable]
        sending = self._sending(step)
        with foreign_errors():
            commands = next(sending)
            try:
                while True:
                    replies = await retry.call_with_retry(lambda: self._round_trip(commands), give_up)  # noqa: B023
                    commands = sending.send(replies)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]

    async def _round_trip(self, commands: Sequence[Command]) -> list[Any]:
        if self._pool is not None:
            return await aexchange(self._pool, commands)
        if len(commands) > 1:
            return await self._pipeline(commands).execute(raise_on_error=False)  # type: ignore[no-any-return]
        try:
            return [await self._client.execute_command(*commands[0], NEVER_DECODE=True)]
        except ResponseError as refusal:
            return [refusal]
