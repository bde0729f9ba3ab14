"""The contenders side by side: all on one server, taking turns, each in a process and an environment of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
from attrs import frozen
from redis import Redis

from peers.entry import Entry, GaveUp
from peers.environments import NotInstalled
from peers.figures import exact, row
from peers.protocol import Workload

OURS = "tiered"
CONTENDERS = (
    "raw_redis", OURS, "tiered_hybrid", "langgraph_in_memory", "langgraph_redis", "redisvl_history", "mem0_redis",
    "redis_agent_memory", "betterdb_store", "chroma_in_memory",
)  # fmt: skip
"""The scripts beside this one that are contenders."""

_WARM = 50
"""How many questions are asked before the timing begins."""


@frozen
class Rules:
    """How much is added and asked, and in how many turns."""

    memories: int
    scopes: int
    dimensions: int
    questions: int = 500
    singles: int = 1000
    """How many of the memories are added one by one, in the end."""
    batch: int = 100
    turns: int = 10


def contest(url: str, rules: Rules, names: Sequence[str] = CONTENDERS) -> list[dict[str, Any]]:
    """A row of figures for each contender; what it left in Redis is removed."""
    workload = Workload.drawn(rules.memories, rules.questions, rules.scopes, rules.dimensions)
    with TemporaryDirectory() as folder, Redis.from_url(url) as client:
        file = Path(folder) / "workload.npz"
        workload.save(file)
        with _started(names, file, url, client) as entries:
            for number, turn in enumerate(turns(rules)):
                shift = number % len(entries)
                for entry in entries[shift:] + entries[:shift]:
                    _take(entry, turn, client)
    best = exact(workload)
    ours = next((entry for entry in entries if entry.name == OURS and not entry.remark), None)
    return [row(entry, ours, workload, best) for entry in entries]


@contextmanager
def _started(names: Sequence[str], file: Path, url: str, client: Redis) -> Iterator[list[Entry]]:
    run = f"benchmark-{uuid4().hex[:8]}"
    with ExitStack() as stack:
        entries = []
        for name in names:
            entry = Entry(name)
            entries.append(entry)
            stack.callback(remove, client, f"{run}-{name}")
            stack.callback(entry.stop)
            try:
                entry.start([str(file), url, f"{run}-{name}"], file.with_name(f"{name}.log"))
            except (GaveUp, NotInstalled) as error:
                entry.remark = str(error)
        yield entries


def turns(rules: Rules) -> Iterator[tuple[str, list[Any]]]:
    """The commands of all turns: batches until only the singles are left, these, then the questions."""
    batches = [
        own[start : start + rules.batch]
        for own in (range(scope, rules.memories - rules.singles, rules.scopes) for scope in range(rules.scopes))
        for start in range(0, len(own), rules.batch)
    ]
    singles = range(rules.memories - rules.singles, rules.memories)
    questions = range(rules.questions)
    phases = {"batch": batches, "add": singles, "warm": questions[:_WARM], "recall": questions}
    for verb, numbers in phases.items():
        for places in np.array_split(np.arange(len(numbers)), rules.turns):
            if len(places):
                yield verb, [list(numbers[place]) if verb == "batch" else numbers[place] for place in places]


def _take(entry: Entry, turn: tuple[str, list[Any]], client: Redis) -> None:
    if entry.remark:
        return
    verb, numbers = turn
    if verb == "batch" and not entry.about["batches"]:
        verb, numbers = "add", [number for batch in numbers for number in batch]
    try:
        before = _size(entry, client)
        entry.ask(verb, numbers)
        if verb in entry.added:
            entry.bytes += _size(entry, client) - before
    except GaveUp as error:
        entry.remark = str(error)


def _size(entry: Entry, client: Redis) -> int:
    return int(client.info("memory")["used_memory"]) if entry.about["on redis"] else entry.resident()


def remove(client: Redis, name: str) -> None:
    """Removes the indexes and keys that have `name` in their names."""
    for index in client.execute_command("FT._LIST"):
        if name.encode() in index:
            client.execute_command("FT.DROPINDEX", index, "DD")
    for key in client.scan_iter(f"*{name}*", count=1000):
        client.delete(key)
