"""Processes that work on one queue at once; run as a program, which forks itself.

Each says on a line of its own, as JSON, which jobs it claimed, and that it completed them.
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import time
from typing import Any

from embedders_for_tests import TableEmbedder
from stores import store_of

from tiered_memory import StoreError, memory

LEASE = 3.0


def claim_all(mem: Any, tell: Any) -> None:
    """Claims and completes until nothing is left, and adds a job for each of the first hundred."""
    jobs = store_of(mem).jobs
    while job := jobs.claim("work", lease=60):
        tell("claimed", job.id, job.attempts)
        if job.id <= 100:
            tell("enqueued", jobs.enqueue("work"))
        assert jobs.complete(job)
        tell("completed", job.id)


def enqueue_and_claim(mem: Any, tell: Any) -> None:
    """Writes a document with a job, claims one, and completes it, several hundred times."""
    store = store_of(mem)
    for step in range(500):
        written = store.documents.put(f"viking://r/{mem.number}/{step}", "text", jobs=[("work", {})])
        tell("enqueued", written.jobs[0], written.uri)
        job = store.jobs.claim("work", lease=LEASE)
        if job is not None and store.jobs.complete(job):
            tell("completed", job.id)


def hang(mem: Any, tell: Any) -> None:
    """Works on a job that never ends, and has its lease renewed meanwhile."""

    def handler(job: Any) -> None:
        tell("claimed", job.id, job.attempts)
        time.sleep(600)

    store_of(mem).jobs.work({"work": handler}, lease=1.0, concurrency=1)


def start(work: str, processes: int, namespace: str, **settings: Any) -> subprocess.Popen[str]:
    """Starts the processes; `settings` are those of the memory."""
    command = [sys.executable, __file__, work, str(processes), namespace, json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _process(barrier: Any, out: Any, work: str, number: int, namespace: str, settings: Any) -> None:
    def tell(*said: Any) -> None:
        with out:
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()

    with memory(namespace=namespace, embedder=TableEmbedder(), **settings) as mem:
        mem.count()
        mem.number = number
        barrier.wait(60)
        try:
            globals()[work](mem, tell)
        except StoreError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.exit(1)


def _main(work: str, processes: int, namespace: str, settings: Any) -> int:
    import redisvl.schema  # noqa: F401 - what takes long to import is imported once, before forking

    if processes == 1:
        return _process(multiprocessing.Barrier(1), multiprocessing.Lock(), work, 0, namespace, settings) or 0
    context = multiprocessing.get_context("fork")
    barrier, out = context.Barrier(processes), context.Lock()
    working = [
        context.Process(target=_process, args=(barrier, out, work, number, namespace, settings))
        for number in range(processes)
    ]
    for each in working:
        each.start()
    for each in working:
        each.join()
    return sum(each.exitcode != 0 for each in working)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])))
