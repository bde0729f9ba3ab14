"""How long the graph takes in one large scope: indexing a fact, and finding facts by entities.

    python benchmarks/graph.py [--url redis://localhost:6379] [--json FILE]

The entities of the facts follow Zipf's law, so that the first are hubs, which a large part of all facts mention.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
from attrs import asdict, frozen
from common import environment, report, server
from redis import Redis

from tiered_memory import ScopedMemory, memory
from tiered_memory.graph import EntityRef, IndexEntry


@frozen
class Size:
    """How much is indexed and measured."""

    facts: int = 100_000
    entities: int = 20_000
    calls: int = 500


def workload(size: Size) -> tuple[list[EntityRef], list[IndexEntry]]:
    """The entities, the most frequent first, and facts that mention two to five of them."""
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, size.entities + 1)
    entities = [EntityRef("name", f"entity {number}") for number in range(size.entities)]
    drawn = random.choice(size.entities, (size.facts, 5), p=shares / shares.sum())
    counts = random.integers(2, 6, size.facts)
    facts = [
        IndexEntry(f"{number:032x}", [entities[place] for place in places[:count]], "a sentence of a few words")
        for number, (places, count) in enumerate(zip(drawn, counts, strict=True))
    ]
    return entities, facts


def timed(name: str, call: Callable[[int], object], calls: int) -> dict[str, Any]:
    """The p50, p95 and p99 of a call, in milliseconds."""
    call(0)  # so that the server knows the script
    taken = np.zeros(calls)
    for number in range(calls):
        start = perf_counter()
        call(number)
        taken[number] = perf_counter() - start
    return {"what": name, **{f"p{each} ms": float(np.percentile(taken, each) * 1e3) for each in (50, 95, 99)}}


def measure(handle: ScopedMemory, size: Size) -> list[dict[str, Any]]:
    """Fills the scope, then measures each call."""
    graph = handle.graph
    entities, facts = workload(size)
    begun = perf_counter()
    for start in range(0, len(facts), 1000):
        graph.index_many(facts[start : start + 1000])
    filled = perf_counter() - begun
    random = np.random.default_rng(1)
    known = [fact for fact in facts if len(fact.entities) >= 2]
    queries = [known[place].entities for place in random.integers(0, len(known), size.calls)]
    rare = [entities[place] for place in random.integers(size.entities // 2, size.entities, size.calls)]
    return [
        {
            "what": "index, each of a batch of 1,000",
            **{f"p{each} ms": 1e3 * filled / len(facts) for each in (50, 95, 99)},
        },
        timed("index one new fact", lambda n: graph.index(f"new {n}", queries[n], "a sentence"), size.calls),
        timed("index it again", lambda n: graph.index(f"new {n}", queries[n], "a sentence"), size.calls),
        timed("neighbors of the largest hub", lambda _: graph.neighbors(entities[:1]), size.calls),
        timed(
            "neighbors of the largest hub, as of now", lambda _: graph.neighbors(entities[:1], as_of=_now()), size.calls
        ),
        timed("neighbors of the two largest hubs", lambda _: graph.neighbors(entities[:2]), size.calls),
        timed("neighbors of a fact's first two entities", lambda n: graph.neighbors(queries[n][:2]), size.calls),
        timed("the first 100 of these", lambda n: graph.neighbors(queries[n][:2], limit=100), size.calls),
        timed("neighbors of a rare entity", lambda n: graph.neighbors(rare[n : n + 1]), size.calls),
        timed("the first 100 of these", lambda n: graph.neighbors(rare[n : n + 1], limit=100), size.calls),
        timed("paths of a rare entity, 100 facts", lambda n: graph.paths(rare[n : n + 1], limit=100), size.calls // 5),
        timed("view of 200 nodes", lambda _: graph.view(200), size.calls // 10),
        timed("forget one", lambda n: graph.forget(f"new {n}"), size.calls),
    ]


def _now() -> Any:
    from tiered_memory import clock

    return clock.now()


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
        with memory(there, namespace=f"benchmark-{uuid4().hex[:8]}") as mem:
            rows = measure(mem.scoped("scope"), size)
            facts["memory MB"] = round(client.info("memory")["used_memory"] / 1e6)
            mem.clear()
        report("The graph of one scope", facts, rows, file)


if __name__ == "__main__":
    main()
