"""How many jobs a second the queue takes and gives, beside raw Redis commands for the same keys.

    python benchmarks/jobs.py [--url redis://localhost:6379] [--jobs 2000] [--waiting 100000]

Both sides use one server and one client, in turns, a job at a time. The raw side knows which job it is about to claim:
it sends, in one pipeline for each call, the commands that write the same fields and members, and looks nothing up.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from common import Batch, PreparedEmbedder, environment, interleave, send, server, show, summarize
from peers.protocol import Workload
from redis import Redis

from tiered_memory import memory

BLOCKS = 5
URI = "viking://resources/notes.md"
LATER = 4_000_000_000_000_000


class RawQueue:
    """The same keys, in a namespace of their own, without any check and without a script."""

    def __init__(self, client: Redis, prefix: str, waiting: int) -> None:
        self._client, self._prefix, self._made, self._claimed = client, prefix, waiting, 0

    def _key(self, *parts: str) -> str:
        return ":".join((self._prefix, *parts))

    def enqueue(self, _: int) -> None:
        """What enqueueing a job writes."""
        self._made += 1
        self._send(self._enqueueing(self._made))

    def fill(self, number: int) -> None:
        """Enqueues so many jobs."""
        for start in range(0, number, 1000):
            self._send([command for each in range(1000) for command in self._enqueueing(start + each + 1)])

    def claim_and_complete(self, _: int) -> None:
        """What claiming a job and completing it writes, in two round trips."""
        self._claimed += 1
        self._send(
            self._moving(self._claimed, "pending", "running", claims=1, attempts=1, owner="raw", claimed_at=LATER)
        )
        self._send(self._moving(self._claimed, "running", "done"))

    def clear(self) -> None:
        """Removes all that it wrote."""
        for key in self._client.scan_iter(f"{self._prefix}:*", count=1000):
            self._client.unlink(key)

    def _send(self, batch: Batch) -> None:
        send(self._client, batch)

    def _enqueueing(self, number: int) -> Batch:
        fields = {"kind": "work", "payload": f'{{"uri":"{URI}"}}', "uri": URI, "content_hash": "", "scope": "-",
                  "token": "t" * 32, "attempts": 0, "claims": 0, "queued_at": LATER, "status": "pending",
                  "moment": LATER}  # fmt: skip
        return [
            ("INCR", self._key("job_sequence")),
            ("HSET", self._key("job", str(number)), *(part for pair in fields.items() for part in pair)),
            ("ZADD", self._key("jobs", "t" * 32, "pending"), 0, f"{URI}\0{number}"),
            ("ZADD", self._key("job_times", "pending"), LATER, f"{number:016}"),
            ("ZADD", self._key("job_due", "t" * 32, "work"), LATER, f"{number:016}"),
            ("HINCRBY", self._key("job_kinds"), "work", 1),
            ("HINCRBY", self._key("job_kinds", "t" * 32), "work", 1),
            ("ZADD", self._key("job_ready", "work"), "NX", 1, "t" * 32),
            ("HINCRBY", self._key("holding"), "-", 1),
            ("ZADD", self._key("scopes"), 0, "-"),
        ]

    def _moving(self, number: int, old: str, new: str, **fields: Any) -> Batch:
        job, member = f"{number:016}", f"{URI}\0{number}"
        changed = {"status": new, "moment": LATER} | fields
        moved: Batch = [
            ("ZREM", self._key("jobs", "t" * 32, old), member),
            ("ZREM", self._key("job_times", old), job),
            ("ZADD", self._key("jobs", "t" * 32, new), 0, member),
            ("ZADD", self._key("job_times", new), LATER, job),
            ("HSET", self._key("job", str(number)), *(part for pair in changed.items() for part in pair)),
        ]
        if old == "pending":
            moved += [
                ("ZREM", self._key("job_due", "t" * 32, "work"), job),
                ("INCR", self._key("job_turns")),
                ("HGETALL", self._key("job", str(number))),
            ]
        return moved


def measure(url: str, jobs: int, waiting: int) -> Iterator[dict[str, Any]]:
    """A row for each call, with so many jobs waiting already; what was written is gone in the end."""
    namespace = f"jobs-{uuid4().hex[:8]}"
    embedder = PreparedEmbedder(Workload.drawn(1, 1, 1, 8))
    with memory(url, namespace=namespace, embedder=embedder) as mem, Redis.from_url(url) as client:
        queue, raw = mem.store.jobs, RawQueue(client, f"{{{namespace}-raw:0}}", waiting)
        raw.fill(waiting)
        for _ in range(0, waiting, 1000):
            mem.store.documents.put(URI, "text", jobs=[("work", {})] * 1000)
        calls = max(jobs // BLOCKS, 1)
        taken = interleave(raw.enqueue, lambda _: queue.enqueue("work", {"uri": URI}), calls, BLOCKS)
        yield _row("enqueue", taken)
        yield _row("claim and complete", interleave(raw.claim_and_complete, lambda _: _work(queue), calls, BLOCKS))
        raw.clear()
        mem.clear()


def _work(queue: Any) -> None:
    assert queue.complete(queue.claim("work"))


def _row(name: str, taken: Any) -> dict[str, Any]:
    row = {"what": name} | summarize(*taken)
    return row | {"raw jobs/s": 1e6 / row["raw p50 µs"], "jobs/s": 1e6 / row["p50 µs"]}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--waiting", type=int, default=100_000)
    given = parser.parse_args()
    for waiting in (0, given.waiting):
        with server(given.url) as url, Redis.from_url(url) as client:
            show(environment(client), {f"with {waiting} jobs waiting": list(measure(url, given.jobs, waiting))})


if __name__ == "__main__":
    main()
