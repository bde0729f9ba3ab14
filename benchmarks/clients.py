"""Several clients at once, as threads and as async tasks: the product against the commands that it sends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from common import Batch, Call, Seconds, send, summarize
from filled import Bench
from redis.asyncio import Redis as AsyncRedis

from tiered_memory import async_memory

Asking = Callable[[Any], Callable[[int], Any]]
"""Makes, for a memory, the recall for the question of a number."""


def threads(bench: Bench, sent: Sequence[Batch], asking: Asking) -> dict[str, float]:
    """Recalls by `size.clients` threads that share a memory, against as many that share a raw client."""
    sides = (lambda number: send(bench.client, sent[number]), asking(bench.memory))
    taken = np.zeros((2, bench.size.blocks, len(sent)))
    with ThreadPoolExecutor(bench.size.clients) as pool:
        for block, side in _blocks(bench.size.blocks):
            times = list(pool.map(_timed(sides[side]), range(len(sent))))
            if block >= 0:
                taken[side, block] = times
    return summarize(*taken)


def tasks(bench: Bench, sent: Sequence[Batch], asking: Asking) -> dict[str, float]:
    """The same by async tasks of one event loop, on the async memory and redis-py's async client."""
    return asyncio.run(_tasks(bench, sent, asking))


async def _tasks(bench: Bench, sent: Sequence[Batch], asking: Asking) -> dict[str, float]:
    settings: dict[str, Any] = {"namespace": bench.namespace, "embedder": bench.embedder, "mode": "vector"}
    taken = np.zeros((2, bench.size.blocks, len(sent)))
    async with AsyncRedis.from_url(bench.url) as client, async_memory(bench.url, **settings) as mem:
        sides = (lambda number: send(client, sent[number]), asking(mem))
        for block, side in _blocks(bench.size.blocks):
            times = await _in_tasks(sides[side], len(sent), bench.size.clients)
            if block >= 0:
                taken[side, block] = times
    return summarize(*taken)


def _blocks(blocks: int) -> list[tuple[int, int]]:
    """Which side does which block; the first of both, number -1, is to warm up."""
    return [(block, side) for block in range(-1, blocks) for side in ((0, 1) if block % 2 else (1, 0))]


def _timed(call: Call) -> Callable[[int], float]:
    def timed(number: int) -> float:
        start = perf_counter()
        call(number)
        return perf_counter() - start

    return timed


async def _in_tasks(call: Callable[[int], Awaitable[object]], calls: int, clients: int) -> Seconds:
    taken = np.zeros(calls)
    numbers = iter(range(calls))

    async def client() -> None:
        for number in numbers:
            start = perf_counter()
            await call(number)
            taken[number] = perf_counter() - start

    await asyncio.gather(*(client() for _ in range(clients)))
    return taken
