"""Fixtures: a real Redis for each worker, a namespace for each test, and a memory in both modes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from servers import redis_server
from stores import store_of

from tiered_memory import MemoryConfig, async_memory, memory
from tiered_memory.operation import NonBlocking

_numbers = count()


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """The URL of a Redis that this worker has for itself."""
    with redis_server() as url:
        yield url


@pytest.fixture(scope="session")
def cleaner(redis_url: str) -> Iterator[Redis]:
    """A client that empties the worker's Redis: one that is full of what tests left is slow."""
    with Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def namespace(request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace that no other test uses; what was written is gone in the end."""
    client = request.getfixturevalue("cleaner") if "redis_url" in request.fixturenames else None
    yield f"test-{os.getpid()}-{next(_numbers)}"
    if client is not None:
        client.flushall()


@pytest.fixture
def embedder() -> TableEmbedder:
    """Maps the words of the tests to known vectors, and counts its calls."""
    return TableEmbedder()


class Waiting:
    """An async handle whose operations are waited for, so that one test serves both modes."""

    def __init__(self, handle: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._handle, self._loop = handle, loop

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._handle, name)
        if isinstance(attribute, NonBlocking):
            return Waiting(attribute, self._loop)
        if not callable(attribute):
            return attribute

        def call(*args: Any, **kwargs: Any) -> Any:
            result = attribute(*args, **kwargs)
            if asyncio.iscoroutine(result):
                return self._loop.run_until_complete(result)
            return Waiting(result, self._loop)

        return call


@pytest.fixture(params=["blocking", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    """The mode that the test runs in."""
    return str(request.param)


@pytest.fixture
def open_memory(mode: str, redis_url: str, namespace: str, embedder: TableEmbedder) -> Iterator[Callable[..., Any]]:
    """Opens memories in the test's mode, on the worker's Redis and in the test's namespace, and closes them."""
    loop = asyncio.new_event_loop()
    opened: list[Any] = []

    def open_one(**settings: Any) -> Any:
        given = {"url": redis_url, "namespace": namespace, "embedder": embedder, "mode": "vector"} | settings
        if "client" in given:
            del given["url"]
        config = MemoryConfig.load(given, {})
        handle = memory(config) if mode == "blocking" else Waiting(async_memory(config), loop)
        opened.append(handle)
        return handle

    yield open_one
    for handle in opened:
        handle.close()
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


@pytest.fixture
def mem(open_memory: Callable[..., Any]) -> Any:
    """A memory with the default settings."""
    return open_memory()


@pytest.fixture
def handle(mem: Any) -> Any:
    """A view on a scope of it."""
    return mem.scoped("s")


@pytest.fixture
def store(mem: Any) -> Any:
    """The context store of its unscoped pool."""
    return store_of(mem)


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """A plain client of the worker's Redis, to look and to tamper with."""
    with Redis.from_url(redis_url) as plain:
        yield plain
