"""How fast the memory is, beside raw redis-py and beside what one would pick instead.

    python benchmarks/speed.py [--url redis://localhost:6379] [--json FILE] [--peers NAME ...]

The first table is about what the memory adds to the commands that it sends: both sides use one server, in turns.
The raw side sends, with redis-py, the very commands that the product sends for a recall, all of them in one
pipeline; for a remember it writes the same fields, ready made, into the same index; for a recall that blends
similarity with recency or reinforcement it asks for the ten nearest rows, which isn't what the product answers.

The other tables are about the peers, one for each way to spread memories over scopes. Embeddings are prepared, so
that no model is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, evolve
from clients import Asking, tasks, threads
from common import Batch, environment, interleave, send, server, show, summarize
from filled import DIMENSIONS, Bench, Size, filled, sent_by
from peers.contest import CONTENDERS, Rules, contest
from redis import Redis

from tiered_memory.engine.reply import rows

BATCH = 100
K = 10
FRESH = "fresh"
"""The scope that is written to; empty at each start."""

TIERS = ("working", "semantic", "episodic", "procedural")
SPREADS = ((10_000, 100), (10_000, 1), (100_000, 1000))
"""How many memories the peers are given, in how many scopes."""

Clients = Callable[[Bench, Sequence[Batch], Asking], dict[str, float]]
"""Measures recalls by one client or by several, against what they send."""


def measure(url: str, size: Size) -> Iterator[dict[str, Any]]:
    """What the memory adds, a row for each operation."""
    with filled(url, size, ["semantic"]) as one:
        yield recall(one, "recall, one tier", tier="semantic")
        yield recall(one, "recall, hybrid", tier="semantic", mode="hybrid")
        yield recall(one, f"recall, {size.clients} threads", threads, tier="semantic")
        yield recall(one, f"recall, {size.clients} async tasks", tasks, tier="semantic")
        yield remember(one, f"remember {BATCH} at once", BATCH)
        yield remember(one, "remember 1", 1)
    with filled(url, size, TIERS) as four:
        yield recall(four, "recall, four tiers")
    for tier in ("semantic", "episodic", "procedural"):
        with filled(url, evolve(size, scopes=1, recalls=max(size.recalls // 5, 1)), [tier]) as large:
            yield beside_nearest(large, f"{tier}, one scope", tier)
            yield beside_nearest(large, f"{tier}, one scope, threshold 0.7", tier, threshold=0.7)


def _asking(bench: Bench, *, threshold: float | None = -1, **asked: Any) -> Asking:
    def asking(mem: Any) -> Callable[[int], Any]:
        questions = bench.workload.questions
        handles = [mem.scoped(bench.workload.scope(number)) for number in range(bench.size.recalls)]
        return lambda number: handles[number].recall(questions[number], k=K, threshold=threshold, **asked)

    return asking


def _one_client(bench: Bench, sent: Sequence[Batch], asking: Asking) -> dict[str, float]:
    def raw(number: int) -> object:
        return send(bench.client, sent[number])

    return summarize(*interleave(raw, asking(bench.memory), len(sent), bench.size.blocks))


def recall(bench: Bench, name: str, by: Clients = _one_client, **asked: Any) -> dict[str, Any]:
    """A recall with k=10, against the commands that it sends in one raw pipeline."""
    asking = _asking(bench, **asked)
    recorded, counts = _recorded(bench, asking)
    sent = [[command for batch in batches for command in batch] for batches in recorded]
    return {"what": name, **counts, "bytes": round(bench.bytes), **by(bench, sent, asking)}


def _recorded(bench: Bench, asking: Asking) -> tuple[list[list[Batch]], dict[str, float]]:
    ask = asking(bench.recorder)
    ask(0)  # so that the server knows the scripts
    sent = [sent_by(bench, lambda _, number=number: ask(number)) for number in range(bench.size.recalls)]  # type: ignore[misc]
    counts = [counts for _, counts in sent]
    means = {name: sum(each[name] for each in counts) / len(counts) for name in counts[0]}
    return [batches for batches, _ in sent], means


def beside_nearest(bench: Bench, name: str, tier: str, **asked: Any) -> dict[str, Any]:
    """A recall with k=10 of a tier, against a raw search for the ten nearest rows there."""
    asking = _asking(bench, tier=tier, **asked)
    _, counts = _recorded(bench, asking)
    sent = [[nearest(bench, tier, number)] for number in range(bench.size.recalls)]
    return {"what": name, **counts, "bytes": round(bench.bytes), **_one_client(bench, sent, asking)}


def nearest(bench: Bench, tier: str, number: int) -> tuple[Any, ...]:
    """What one would write by hand to find the ten rows of a scope that are nearest to a question."""
    scope = bench.keyspace.of(bench.workload.scope(number))
    query = f"(@active:{{{scope.token(tier)}}})=>[KNN {K} @{bench.keyspace.vector} $vector AS distance]"
    vector = bench.workload.embed(bench.workload.questions[number]).tobytes()
    options = ("PARAMS", 2, "vector", vector, "SORTBY", "distance", "LIMIT", 0, K, "DIALECT", 2)
    return ("FT.SEARCH", scope.index, query, *options, "RETURN", 4, "distance", "id", "text", "at")


def remember(bench: Bench, name: str, count: int) -> dict[str, Any]:
    """Remembering `count` new facts at once, against HSETs of the same fields in one raw pipeline."""
    texts = bench.workload.texts[:count]
    handle = bench.memory.scoped(FRESH)
    _, counts = sent_by(bench, lambda mem: mem.scoped(FRESH).remember(texts))
    written = as_written(bench, count)
    handle.clear()
    keys = [f"{bench.keyspace.records(0)}raw{number}" for number in range(count)]

    def reset(_: int) -> None:
        handle.clear()
        bench.client.delete(*keys)

    def raw(_: int) -> object:
        return send(bench.client, [("HSET", key, *fields) for key, fields in zip(keys, written, strict=True)])

    times = interleave(raw, lambda _: handle.remember(texts), bench.size.writes, bench.size.blocks, reset)
    return {"what": name, **counts, "bytes": round(bench.bytes), **summarize(*times)}


def as_written(bench: Bench, count: int) -> list[list[bytes]]:
    """Names and values of the fields of each record that now stands in the fresh scope."""
    query = f"@active:{{{bench.keyspace.of(FRESH).token('semantic')}}}"
    found = rows(bench.client.execute_command("FT.SEARCH", bench.keyspace.index(0), query, "LIMIT", 0, count))
    return [[part for pair in fields.items() for part in pair] for _, fields in found]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a Redis to measure; default: a new one, thrown away afterwards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    parser.add_argument("--peers", nargs="*", default=CONTENDERS, metavar="NAME", help="whom to measure beside it")
    for name, default in asdict(Size()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    url, file, peers = (options.pop(name) for name in ("url", "json", "peers"))
    size = Size(**options)
    with server(url) as there, Redis.from_url(there) as client:
        facts = environment(client) | asdict(size)
        tables = {"The memory against raw redis-py": list(measure(there, size))}
        if peers:
            for memories, scopes in SPREADS:
                rules = Rules(memories, scopes, DIMENSIONS)
                tables[f"{memories:,} memories in {scopes:,} scopes"] = contest(there, rules, peers)
    show(facts, tables, file)


if __name__ == "__main__":
    main()
