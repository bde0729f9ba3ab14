"""What the benchmarks share: the server, prepared embeddings, interleaved timings, and the table of results."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers.protocol import Workload
from redis import Redis
from rich.console import Console
from rich.table import Table

from tiered_memory.engine.binaries import find_binaries
from tiered_memory.engine.reply import pairs, strings

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from servers import redis_server

_WIDTH = 200
"""So many columns the widest table needs."""

Batch = list[tuple[Any, ...]]
Vectors = NDArray[np.float32]


@contextmanager
def server(url: str | None) -> Iterator[str]:
    """The URL of the Redis to measure: `url` itself, or a new one that keeps nothing on the disk.

    The new one is of the binaries that the `embedded` extra installs, and is reached through a Unix socket. It
    has the JSON module too, which one of the peers needs.
    """
    if url is not None:
        yield url
        return
    json_module = find_binaries().search_module.with_name("rejson.so")
    with TemporaryDirectory() as folder:
        socket = f"{folder}/redis.sock"
        with redis_server("--unixsocket", socket, "--loadmodule", str(json_module)):
            yield f"unix://{socket}"


class PreparedEmbedder:
    """Answers with the vectors of a workload, so that nothing but the memory is measured; counts its calls."""

    id = "prepared"
    max_tokens = None
    floor = None

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.dimensions = workload.dimensions
        self.calls = 0

    def fit(self, text: str) -> str:
        return text

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls += 1
        vectors: Vectors = np.stack([self._workload.embed(text) for text in texts])
        return vectors


class RecordingClient(Redis):
    """A client that keeps what it sends, one batch for each round trip."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.batches: list[Batch] = []

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.batches.append([args])
        return super().execute_command(*args, **options)

    def pipeline(self, *args: Any, **options: Any) -> Any:
        pipeline = super().pipeline(*args, **options)
        execute = pipeline.execute

        def recorded(**given: Any) -> Any:
            self.batches.append([command for command, _ in pipeline.command_stack])
            return execute(**given)

        pipeline.execute = recorded  # type: ignore[method-assign]
        return pipeline


def send(client: Any, batch: Batch) -> Any:
    """Sends a batch in one round trip, as one does with redis-py; with an async client to be awaited."""
    if len(batch) == 1:
        return client.execute_command(*batch[0])
    pipeline = client.pipeline(transaction=False)
    for command in batch:
        pipeline.execute_command(*command)
    return pipeline.execute()


Call = Callable[[int], object]
Seconds = NDArray[np.float64]


def take_turns(sides: Sequence[Call], calls: int, blocks: int, reset: Call | None = None) -> Seconds:
    """How long each call took, in seconds, as an array of shape [sides, blocks, calls].

    The sides take turns, and in who goes first. After each call `reset` undoes it, outside the timing. Every
    call is made once before the timing begins, so that caches are warm.
    """
    taken = np.zeros((len(sides), blocks, calls))
    for block in range(-1, blocks):
        for number in range(calls):
            for turn in range(len(sides)):
                side = (block + number + turn) % len(sides)
                start = perf_counter()
                sides[side](number)
                taken[side, block, number] = perf_counter() - start
                if reset is not None:
                    reset(number)
    return taken


def interleave(raw: Call, ours: Call, calls: int, blocks: int, reset: Call | None = None) -> tuple[Seconds, Seconds]:
    """How long each call of two sides took that take turns, in seconds, as arrays of shape [blocks, calls]."""
    raw_taken, our_taken = take_turns([raw, ours], calls, blocks, reset)
    return raw_taken, our_taken


def summarize(raw: Seconds, ours: Seconds) -> dict[str, float]:
    """p50, p95, p99 and mean of both sides; their medians' ratio, the median over the blocks, and its inverse."""
    ratio = float(np.median(np.median(ours, axis=1) / np.median(raw, axis=1)))
    return {
        "raw p50 µs": float(np.percentile(raw, 50) * 1e6),
        "raw p95 µs": float(np.percentile(raw, 95) * 1e6),
        "raw p99 µs": float(np.percentile(raw, 99) * 1e6),
        "raw mean µs": float(np.mean(raw) * 1e6),
        "p50 µs": float(np.percentile(ours, 50) * 1e6),
        "p95 µs": float(np.percentile(ours, 95) * 1e6),
        "p99 µs": float(np.percentile(ours, 99) * 1e6),
        "mean µs": float(np.mean(ours) * 1e6),
        "ratio": ratio,
        "throughput": 1 / ratio,
    }


def environment(client: Redis) -> dict[str, Any]:
    """What was measured, when, and on what."""
    modules = [pairs(module) for module in strings(client.execute_command("MODULE", "LIST"))]
    search = next((module["ver"] for module in modules if module["name"] == "search"), None)
    return {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "tiered-memory": version("tiered-memory"),
        "redis-py": version("redis"),
        "redisvl": version("redisvl"),
        "server": client.info("server")["redis_version"],
        "search module": search,
    }


def report(title: str, facts: dict[str, Any], rows: list[dict[str, Any]], file: Path | None) -> None:
    """Prints `facts` and the table of `rows`, and writes both to `file` as JSON."""
    show(facts, {title: rows})
    _keep({"title": title, "facts": facts, "rows": rows}, file)


def show(facts: dict[str, Any], tables: dict[str, list[dict[str, Any]]], file: Path | None = None) -> None:
    """Prints `facts`, and each table under its title, and writes all of it to `file` as JSON."""
    console = Console(highlight=False, width=max(Console().width, _WIDTH))
    console.print(", ".join(f"{name} {value}" for name, value in facts.items()))
    for title, rows in tables.items():
        table = Table(title=title)
        for name, value in rows[0].items():
            table.add_column(name, justify="left" if isinstance(value, str) else "right")
        for row in rows:
            table.add_row(*(_shown(value) for value in row.values()))
        console.print(table)
    _keep({"facts": facts, "tables": tables}, file)


def _keep(results: dict[str, Any], file: Path | None) -> None:
    if file is not None:
        file.write_text(json.dumps(results, indent=2) + "\n")


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if value >= 100 else f"{value:.3f}"
    return str(value)
