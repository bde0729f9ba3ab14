"""A namespace with memories in it, as the product and as redis-py see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from time import sleep
from typing import Any
from uuid import uuid4

from attrs import frozen
from common import Batch, PreparedEmbedder, RecordingClient
from peers.protocol import Workload
from redis import Redis

from tiered_memory import Memory, MemoryItem, ScopedMemory, clock, memory
from tiered_memory.engine.keys import Keyspace, vector_field

DIMENSIONS = 384

_AT_ONCE = 1000
_APART = timedelta(minutes=13)
"""How far episodes lie apart: 10,000 of them go back three months."""
_USES = 6
"""How often the most used how-to was remembered; each further time it is a third as many."""
_LOOKS, _PAUSE, _STEADY = 50, 0.05, 20_000
"""How often Redis' memory is looked at, after how many seconds, until it changes by less than so many bytes."""


@frozen
class Size:
    """How much is stored and measured."""

    memories: int = 10_000
    scopes: int = 100
    blocks: int = 9
    recalls: int = 500
    writes: int = 50
    clients: int = 8


@frozen
class Bench:
    """A filled namespace; `recorder` is a second memory on it, which keeps what it sends.

    `bytes` is how many bytes of Redis a memory takes, its share of the index included.
    """

    url: str
    size: Size
    namespace: str
    workload: Workload
    embedder: PreparedEmbedder
    client: Redis
    memory: Memory
    recording: RecordingClient
    recorder: Memory
    bytes: float

    @property
    def keyspace(self) -> Keyspace:
        """The keys of the namespace."""
        return Keyspace(self.namespace, 1, vector_field(self.embedder.id))


@contextmanager
def filled(url: str, size: Size, tiers: Sequence[str]) -> Iterator[Bench]:
    """A namespace whose memories are spread evenly over scopes, and there over `tiers`; cleared at the end."""
    workload = Workload.drawn(size.memories, size.recalls, size.scopes, DIMENSIONS)
    embedder = PreparedEmbedder(workload)
    namespace = f"benchmark-{uuid4().hex[:8]}"
    recording = RecordingClient.from_url(url)
    settings: dict[str, Any] = {"namespace": namespace, "embedder": embedder, "mode": "vector"}
    with (
        Redis.from_url(url) as client,
        recording,
        memory(url, **settings) as mem,
        memory(client=recording, **settings) as recorder,
    ):
        try:
            before = _used(client)
            _fill(mem, workload, tiers)
            each = (_used(client) - before) / size.memories
            recorder.count()  # opens it, so that nothing but the work is recorded
            yield Bench(url, size, namespace, workload, embedder, client, mem, recording, recorder, each)
        finally:
            mem.clear()


def sent_by(bench: Bench, operation: Callable[[Memory], object]) -> tuple[list[Batch], dict[str, int]]:
    """What `operation` sends, a batch for each round trip; and how many of these and of embedder calls it makes."""
    bench.recorder.count()  # takes along what earlier recalls left to be sent later
    bench.recording.batches.clear()
    before = bench.embedder.calls
    operation(bench.recorder)
    batches = list(bench.recording.batches)
    return batches, {"round trips": len(batches), "embedder calls": bench.embedder.calls - before}


def _used(client: Redis) -> int:
    """How many bytes Redis uses, once it has freed what was dropped before: it does that in the background."""
    used = 0
    for _ in range(_LOOKS):
        before, used = used, int(client.info("memory")["used_memory"])
        if abs(used - before) < _STEADY:
            break
        sleep(_PAUSE)
    return used


def _fill(mem: Memory, workload: Workload, tiers: Sequence[str]) -> None:
    now = clock.now()
    for first in range(workload.scopes):
        handle = mem.scoped(workload.scope(first))
        own = range(first, len(workload.texts), workload.scopes)
        for place, tier in enumerate(tiers):
            numbers = own[place :: len(tiers)]
            items = [MemoryItem(workload.texts[number], tier, at=now - number * _APART) for number in numbers]
            for again in range(_USES if tier == "procedural" else 1):
                _remember(handle, items[:: 3**again])


def _remember(handle: ScopedMemory, items: Sequence[MemoryItem]) -> None:
    for start in range(0, len(items), _AT_ONCE):
        handle.remember(items[start : start + _AT_ONCE])
