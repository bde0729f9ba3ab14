"""How much time the memory adds to the commands that it sends: recall and remember against raw redis-py.

    python benchmarks/speed.py [--url redis://localhost:6379] [--json FILE]

Both sides use one server, in turns. The raw side sends, with redis-py, the very commands that the product
sends for a recall; for a remember it writes the same fields, ready made, into the same index. Embeddings are
prepared, so that no model is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from attrs import asdict, frozen
from common import (
    Batch,
    PreparedEmbedder,
    RecordingClient,
    Vectors,
    environment,
    interleave,
    report,
    send,
    server,
    summarize,
)
from redis import Redis

from tiered_memory import Memory, ScopedMemory, memory
from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.engine.reply import rows

DIMENSIONS = 384
BATCH = 100
FRESH = "fresh"
"""The scope that is written to; empty at each start."""

TIERS = ("working", "semantic", "episodic", "procedural")


@frozen
class Size:
    """How much is stored and measured."""

    memories: int = 10_000
    scopes: int = 100
    blocks: int = 9
    recalls: int = 500
    writes: int = 50


@frozen
class Bench:
    """A filled namespace, as the product and as redis-py see it; `recorder` is a second memory on it."""

    size: Size
    namespace: str
    texts: list[str]
    queries: list[str]
    embedder: PreparedEmbedder
    client: Redis
    memory: Memory
    recording: RecordingClient
    recorder: Memory

    def scope(self, number: int) -> str:
        """The scope that the query of this number is asked in."""
        return f"user {number % self.size.scopes}"


def workload(size: Size) -> tuple[list[str], list[str], PreparedEmbedder]:
    """Texts, queries that lie near the first of them, and the embedder that knows their vectors."""
    random = np.random.default_rng(0)
    vectors = _units(random.normal(size=(size.memories, DIMENSIONS)))
    near = vectors[: size.recalls] + 0.02 * random.normal(size=(size.recalls, DIMENSIONS))
    texts = [f"memory {number:05d} of something that happened once to someone" for number in range(size.memories)]
    queries = [f"what happened in case {number:05d}?" for number in range(size.recalls)]
    return texts, queries, PreparedEmbedder([*texts, *queries], np.concatenate([vectors, _units(near)]))


def _units(vectors: Any) -> Vectors:
    units: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return units


@contextmanager
def bench(url: str, size: Size, tiers: Sequence[str]) -> Iterator[Bench]:
    """A namespace whose memories are spread evenly over scopes, and there over `tiers`; cleared at the end."""
    texts, queries, embedder = workload(size)
    namespace = f"benchmark-{uuid4().hex[:8]}"
    recording = RecordingClient.from_url(url)
    with (
        Redis.from_url(url) as client,
        recording,
        memory(url, namespace=namespace, embedder=embedder) as mem,
        memory(client=recording, namespace=namespace, embedder=embedder) as recorder,
    ):
        made = Bench(size, namespace, texts, queries, embedder, client, mem, recording, recorder)
        try:
            _fill(made, tiers)
            recorder.count()  # opens it, so that nothing but the work is recorded
            yield made
        finally:
            mem.clear()


def _fill(bench: Bench, tiers: Sequence[str]) -> None:
    for number in range(bench.size.scopes):
        own = bench.texts[number :: bench.size.scopes]
        for place, tier in enumerate(tiers):
            bench.memory.scoped(bench.scope(number)).remember(own[place :: len(tiers)], tier=tier)


def sent_by(bench: Bench, operation: Callable[[Memory], object]) -> tuple[list[Batch], dict[str, int]]:
    """What `operation` sends, a batch for each round trip; and how many of these and of embedder calls it makes."""
    bench.recorder.count()  # takes along what earlier recalls left to be sent later
    bench.recording.batches.clear()
    before = bench.embedder.calls
    operation(bench.recorder)
    batches = list(bench.recording.batches)
    return batches, {"round trips": len(batches), "embedder calls": bench.embedder.calls - before}


def recall(bench: Bench, name: str, tier: str | None) -> dict[str, Any]:
    """A recall with k=10, against the commands that it sends, one raw pipeline for each of its round trips."""
    handles = [bench.memory.scoped(bench.scope(number)) for number in range(bench.size.recalls)]
    _ask(bench, handles[0], 0, tier)  # so that the server knows the scripts
    sent = [
        sent_by(bench, lambda mem, n=number: _ask(bench, mem.scoped(bench.scope(n)), n, tier))  # type: ignore[misc]
        for number in range(bench.size.recalls)
    ]

    def raw(number: int) -> None:
        for batch in sent[number][0]:
            send(bench.client, batch)

    times = interleave(
        raw, lambda number: _ask(bench, handles[number], number, tier), bench.size.recalls, bench.size.blocks
    )
    return {"what": name, **_means([counts for _, counts in sent]), **summarize(*times)}


def _ask(bench: Bench, handle: ScopedMemory, number: int, tier: str | None) -> object:
    return handle.recall(bench.queries[number], k=10, tier=tier, threshold=-1)


def _means(counts: list[dict[str, int]]) -> dict[str, float]:
    return {name: sum(each[name] for each in counts) / len(counts) for name in counts[0]}


def remember(bench: Bench, name: str, count: int) -> dict[str, Any]:
    """Remembering `count` new facts at once, against HSETs of the same fields in one raw pipeline."""
    texts = bench.texts[:count]
    handle = bench.memory.scoped(FRESH)
    _, counts = sent_by(bench, lambda mem: mem.scoped(FRESH).remember(texts))
    written = _as_written(bench, count)
    handle.clear()
    keys = [f"{_keyspace(bench).records(0)}raw{number}" for number in range(count)]

    def reset(_: int) -> None:
        handle.clear()
        bench.client.delete(*keys)

    def raw(_: int) -> object:
        return send(bench.client, [("HSET", key, *fields) for key, fields in zip(keys, written, strict=True)])

    times = interleave(raw, lambda _: handle.remember(texts), bench.size.writes, bench.size.blocks, reset)
    return {"what": name, **counts, **summarize(*times)}


def _as_written(bench: Bench, count: int) -> list[list[bytes]]:
    """Names and values of the fields of each record that now stands in the fresh scope."""
    keyspace = _keyspace(bench)
    query = f"@active:{{{keyspace.of(FRESH).token('semantic')}}}"
    found = rows(bench.client.execute_command("FT.SEARCH", keyspace.index(0), query, "LIMIT", 0, count))
    return [[part for pair in fields.items() for part in pair] for _, fields in found]


def _keyspace(bench: Bench) -> Keyspace:
    return Keyspace(bench.namespace, 1, vector_field(bench.embedder.id))


def measure(url: str, size: Size) -> list[dict[str, Any]]:
    """All comparisons, a row each."""
    with bench(url, size, ["semantic"]) as one:
        rows_of_one = [
            recall(one, "recall, one tier, k=10", "semantic"),
            remember(one, f"remember {BATCH} at once", BATCH),
            remember(one, "remember 1", 1),
        ]
    with bench(url, size, TIERS) as four:
        return [rows_of_one[0], recall(four, "recall, four tiers, k=10", None), *rows_of_one[1:]]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a Redis to measure; default: an embedded one, thrown away afterwards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    for name, default in asdict(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    url, file = options.pop("url"), options.pop("json")
    size = Size(**options)
    with server(url) as there, Redis.from_url(there) as client:
        facts = environment(client) | asdict(size)
        report("The memory against raw redis-py", facts, measure(there, size), file)


if __name__ == "__main__":
    main()
