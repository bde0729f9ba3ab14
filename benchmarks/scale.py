"""How recall, ingest and memory behave up to a million memories: on one node, and on a cluster of three.

    python benchmarks/scale.py [--memories 1000000] [--json FILE] [--plots FOLDER]

A scope holds 100 memories, so that only their number grows. The vectors have 128 dimensions, so that a million of
them fits into the memory of a small machine. Memories go in through `remember`, a scope at once; recalls are for the
ten nearest, of random scopes. Both servers are started here, with an append-only file; in the end they are stopped
and started again from what they have kept. All of it runs on this one machine: a cluster shows that it works and
what it costs, not what more machines would bring.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, sleep
from typing import Any

import numpy as np
from chart import chart
from common import environment, show
from numbered import DIMENSIONS, SCOPE, NumberedEmbedder, question, scope, text
from redis import Redis
from redis.cluster import RedisCluster
from servers import free_ports, redis_cluster, redis_server, wait_until

from tiered_memory import Memory, StoreError, memory

K = 10
WARM = 200
STAGES = (0.01, 0.1, 1.0)
"""The shares of all memories at which is measured."""

NAMESPACE = "scale"
_SETTINGS = ("--appendonly", "yes")

Place = Callable[[Path, Sequence[int]], AbstractContextManager[str]]
PLACES: dict[str, Place] = {
    "one node": lambda folder, _: redis_server(*_SETTINGS, folder=folder),
    "three nodes": lambda folder, ports: redis_cluster(3, *_SETTINGS, folder=folder, ports=ports),
}


def measure(place: str, memories: int, recalls: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A row for each stage, and one of starting again."""
    embedder = NumberedEmbedder(memories)
    ports = free_ports(6)
    with TemporaryDirectory() as name:
        folder = Path(name)
        with PLACES[place](folder, ports) as url, _opened(url, embedder) as mem:
            rows = [{"where": place} | row for row in stages(url, mem, memories, recalls)]
        return rows, {"where": place} | reopened(lambda: PLACES[place](folder, ports), embedder, memories)


def _opened(url: str, embedder: NumberedEmbedder) -> Memory:
    return memory(url, namespace=NAMESPACE, embedder=embedder, mode="vector", timeout=600)


def stages(url: str, mem: Memory, memories: int, recalls: int) -> Iterator[dict[str, Any]]:
    """Fills the memory stage by stage, and measures at the end of each."""
    empty, done, first = used(url), 0, None
    for share in STAGES:
        goal = round(memories * share)
        seconds = ingest(mem, range(done, goal))
        wait_until(lambda: not _rewrites(url), 600)
        times, right = recall(mem, goal, recalls)
        p95 = float(np.percentile(times, 95) * 1e6)
        first = first or p95
        yield {
            "memories": goal,
            "scopes": goal // SCOPE,
            "p50 µs": float(np.median(times) * 1e6),
            "p95 µs": p95,
            "p95 / first": p95 / first,
            "right": right,
            "ingest/s": (goal - done) / seconds,
            "bytes a memory": (used(url) - empty) / goal,
        }
        done = goal


def ingest(mem: Memory, numbers: range) -> float:
    """Remembers the memories of these numbers, a scope at once; answers how many seconds that took."""
    batches = [[text(number) for number in numbers[start : start + SCOPE]] for start in range(0, len(numbers), SCOPE)]
    start = perf_counter()
    for place, batch in enumerate(batches):
        mem.scoped(scope(numbers[place * SCOPE])).remember(batch)
    return perf_counter() - start


def recall(mem: Memory, stored: int, recalls: int) -> tuple[Any, float]:
    """How many seconds each recall took, and for which share the memory that was asked about came first."""
    times, right = [], 0
    for turn, number in enumerate(np.random.default_rng(1).integers(stored, size=WARM + recalls).tolist()):
        handle = mem.scoped(scope(number))
        start = perf_counter()
        hits = handle.recall(question(number), k=K, tier="semantic", threshold=-1)
        seconds = perf_counter() - start
        if turn >= WARM:
            times.append(seconds)
            right += bool(hits) and hits[0].text == text(number)
    return np.array(times), right / recalls


def reopened(
    start: Callable[[], AbstractContextManager[str]], embedder: NumberedEmbedder, memories: int
) -> dict[str, Any]:
    """How long it takes after a stop until the server answers, and until recalls are whole again, in seconds."""
    began = perf_counter()
    with start() as url:
        answers = perf_counter() - began
        wait_until(lambda: _is_whole(url, embedder, memories), 1800)
        return {"memories": memories, "server answers s": answers, "recalls are whole s": perf_counter() - began}


def _is_whole(url: str, embedder: NumberedEmbedder, memories: int) -> bool:
    """Whether each of a hundred scopes gives all of its hits."""
    try:
        with _opened(url, embedder) as mem:
            asked = range(0, memories, max(memories // 100, 1))
            found = [mem.scoped(scope(number)).recall(question(number), k=SCOPE, threshold=-1) for number in asked]
            return all(len(hits) == SCOPE for hits in found)
    except StoreError:  # the index is still being built
        sleep(0.1)
        return False


def _infos(url: str, section: str) -> list[dict[str, Any]]:
    """What each node says about itself."""
    with Redis.from_url(url) as client:
        if not client.info("cluster")["cluster_enabled"]:
            return [client.info(section)]
    with RedisCluster.from_url(url) as cluster:
        return [cluster.info(section, target_nodes=node) for node in cluster.get_primaries()]


def used(url: str) -> int:
    """How many bytes all nodes hold."""
    return sum(info["used_memory"] for info in _infos(url, "memory"))


def _rewrites(url: str) -> bool:
    return any(info["aof_rewrite_in_progress"] or info["aof_rewrite_scheduled"] for info in _infos(url, "persistence"))


def plots(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """The charts by the names of their files."""
    places = list(dict.fromkeys(row["where"] for row in rows))

    def lines(*figures: str) -> dict[str, list[tuple[float, float]]]:
        return {
            f"{place}, {figure.split()[0]}": [(row["memories"], row[figure]) for row in rows if row["where"] == place]
            for place in places
            for figure in figures
        }

    across = "memories, 100 in each scope"
    return {
        "scale_recall.svg": chart("Microseconds of a recall in a scope", across, lines("p50 µs", "p95 µs")),
        "scale_ingest.svg": chart("Memories remembered in a second", across, lines("ingest/s")),
        "scale_bytes.svg": chart("Bytes of Redis for a memory", across, lines("bytes a memory")),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--memories", type=int, default=1_000_000)
    parser.add_argument("--recalls", type=int, default=2000)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="where to draw them")
    options = parser.parse_args()
    with redis_server() as url, Redis.from_url(url) as client:
        facts = environment(client) | {"dimensions": DIMENSIONS}
    rows, again = [], []
    for place in options.places:
        stages_there, restart = measure(place, options.memories, options.recalls)
        rows += stages_there
        again.append(restart)
    tables = {"Scale": rows, "Starting again": again}
    show(facts, tables, options.json)
    if options.plots is not None:
        options.plots.mkdir(parents=True, exist_ok=True)
        for name, drawing in plots(rows).items():
            (options.plots / name).write_text(drawing)


if __name__ == "__main__":
    main()
