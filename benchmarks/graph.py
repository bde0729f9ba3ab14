"""What the graph costs in one large scope: its own calls, and recalling and remembering beside the same without it.

    python benchmarks/graph.py [--url redis://localhost:6379] [--json FILE]

The entities of the facts follow Zipf's law, so that the first are hubs, which a large part of all facts mention.
First the facts are indexed by themselves, and each call of the graph is timed. Then they are remembered, with their
entities in their metadata, and recalls with and without the graph take turns, and so do writes: `/ off` is how many
times as long a call takes as without.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any
from uuid import uuid4

import numpy as np
from attrs import asdict
from common import Call, Seconds, environment, server, show, take_turns
from redis import Redis
from tickets import Question, Size, Workload, drawn, item

from tiered_memory import GraphConfig, Hits, Memory, ScopedMemory, clock, memory
from tiered_memory.graph import EntityRef
from tiered_memory.settings import GraphMode

K = 10
BLOCKS = 2
BATCH = 100
SCOPE = "scope"
_AT_ONCE = 1000

WAYS: dict[str, tuple[GraphMode, Callable[[Question], str]]] = {
    "off": ("off", lambda question: question.text),
    "boost": ("boost", lambda question: question.text),
    "filter": ("filter", lambda question: question.text),
    "boost, names unknown": ("boost", lambda question: question.unheard),
    "boost, names none": ("boost", lambda question: question.plain),
}
"""What a recall makes of the graph, and how the question is put."""


def measure(url: str, size: Size) -> tuple[dict[str, int], dict[str, list[dict[str, Any]]]]:
    """How many megabytes the graph takes, and the tables by their titles; what was written is gone in the end."""
    workload, namespace = drawn(size), f"benchmark-{uuid4().hex[:8]}"
    settings: dict[str, Any] = {"namespace": namespace, "mode": "hybrid"}
    with memory(url, **settings) as plain, memory(url, **settings, graph=GraphConfig()) as woven:
        before = _used(url)
        tables = {"The graph of one scope": calls(plain.scoped(SCOPE), workload, size)}
        facts = {"graph MB": round((_used(url) - before) / 1e6)}
        plain.clear()
        for start in range(0, size.facts, _AT_ONCE):
            woven.scoped(SCOPE).remember(list(map(item, workload.facts[start : start + _AT_ONCE])))
        tables[f"Recall, k={K}"] = list(recall(woven.scoped(SCOPE), workload))
        tables["Remember"] = list(remember(plain, woven, workload, size))
        woven.clear()
    return facts, tables


def _used(url: str) -> int:
    with Redis.from_url(url) as client:
        return int(client.info("memory")["used_memory"])


def calls(handle: ScopedMemory, workload: Workload, size: Size) -> list[dict[str, Any]]:
    """Indexes all facts, then times each call of the graph."""
    graph, entities, facts = handle.graph, workload.entities, workload.facts
    begun = perf_counter()
    for start in range(0, len(facts), _AT_ONCE):
        graph.index_many(facts[start : start + _AT_ONCE])
    filled = 1e3 * (perf_counter() - begun) / len(facts)
    random = np.random.default_rng(1)
    queries = [facts[place].entities for place in random.integers(0, len(facts), size.calls)]
    rare = [entities[place] for place in random.integers(size.entities // 2, size.entities, size.calls)]
    return [
        {"what": f"index, each of a batch of {_AT_ONCE:,}", **{f"p{each} ms": filled for each in (50, 95, 99)}},
        timed("index one new fact", lambda n: graph.index(f"new {n}", queries[n], "a sentence"), size.calls),
        timed("index it again", lambda n: graph.index(f"new {n}", queries[n], "a sentence"), size.calls),
        timed("neighbors of the largest hub", lambda _: graph.neighbors(entities[:1]), size.calls),
        timed("neighbors of the largest hub, as of now", lambda _: _as_of_now(handle, entities[:1]), size.calls),
        timed("neighbors of the two largest hubs", lambda _: graph.neighbors(entities[:2]), size.calls),
        timed("neighbors of a fact's first two entities", lambda n: graph.neighbors(queries[n][:2]), size.calls),
        timed("the first 100 of these", lambda n: graph.neighbors(queries[n][:2], limit=100), size.calls),
        timed("neighbors of a rare entity", lambda n: graph.neighbors(rare[n : n + 1]), size.calls),
        timed("the first 100 of these", lambda n: graph.neighbors(rare[n : n + 1], limit=100), size.calls),
        timed("paths of a rare entity, 100 facts", lambda n: graph.paths(rare[n : n + 1], limit=100), size.calls // 5),
        timed("view of 200 nodes", lambda _: graph.view(200), size.calls // 10),
        timed("forget one", lambda n: graph.forget(f"new {n}"), size.calls),
    ]


def timed(name: str, call: Call, number: int) -> dict[str, Any]:
    """The p50, p95 and p99 of a call, in milliseconds."""
    call(0)  # so that the server knows the script
    taken = np.zeros(number)
    for place in range(number):
        start = perf_counter()
        call(place)
        taken[place] = perf_counter() - start
    return {"what": name, **{f"p{each} ms": float(np.percentile(taken, each) * 1e3) for each in (50, 95, 99)}}


def _as_of_now(handle: ScopedMemory, entities: Sequence[EntityRef]) -> object:
    return handle.graph.neighbors(entities, as_of=clock.now())


def recall(handle: ScopedMemory, workload: Workload) -> Iterator[dict[str, Any]]:
    """A row for each kind of question and each way to ask it, with the share of memories asked about that it found."""
    for kind, questions in workload.questions.items():
        found: dict[str, dict[int, Hits]] = {way: {} for way in WAYS}
        ways = {way: _asking(handle, way, questions, found[way]) for way in WAYS}
        for row in compared(ways, len(questions), BLOCKS):
            hits = found[row["graph"]]
            assert not any(each.degraded for each in hits.values())
            right = [any(hit.id == each.about for hit in hits[place]) for place, each in enumerate(questions)]
            yield {"questions name": kind} | row | {"finds it": sum(right) / len(right)}


def _asking(handle: ScopedMemory, way: str, questions: Sequence[Question], found: dict[int, Hits]) -> Call:
    graph, put = WAYS[way]
    texts = [put(question) for question in questions]

    def ask(number: int) -> None:
        found[number] = handle.recall(texts[number], k=K, graph=graph)

    return ask


def remember(plain: Memory, woven: Memory, workload: Workload, size: Size) -> Iterator[dict[str, Any]]:
    """Rows for one new memory at once, and for a batch; by a memory without a graph and by one that has it."""
    for number, times in ((1, size.calls), (BATCH, max(size.calls // 10, 1))):
        ways = {name: _writing(mem, name, workload, number) for name, mem in (("off", plain), ("on", woven))}
        for row in compared(ways, times, 1):
            yield {"what": f"remember {number} at once"} | row


def _writing(mem: Memory, name: str, workload: Workload, number: int) -> Call:
    handle, fresh = mem.scoped(SCOPE), count()

    def write(place: int) -> None:
        facts = [workload.facts[(place * number + each) % len(workload.facts)] for each in range(number)]
        handle.remember([item(fact, f"{name} {number} {next(fresh)}") for fact in facts])

    return write


def compared(ways: Mapping[str, Call], number: int, blocks: int) -> Iterator[dict[str, Any]]:
    """A row for each way: p50 and p95 in milliseconds, and by those of the first way, which is without the graph."""
    taken = take_turns(list(ways.values()), number, blocks)
    first = _percentiles(taken[0])
    for name, seconds in zip(ways, taken, strict=True):
        own = _percentiles(seconds)
        ratios = {f"{which} / off": own[which] / first[which] for which in own}
        yield {"graph": name, **{f"{which} ms": value for which, value in own.items()}, **ratios}


def _percentiles(seconds: Seconds) -> dict[str, float]:
    return {f"p{each}": float(np.percentile(seconds, each) * 1e3) for each in (50, 95)}


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
        facts, tables = measure(there, size)
        show(environment(client) | asdict(size) | facts, tables, file)


if __name__ == "__main__":
    main()
