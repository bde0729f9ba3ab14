"""Processes that race each other through the life of a few memories; run as a program, which forks itself.

Each process says on a line of its own, as JSON, what was acknowledged to it.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from attrs import frozen
from embedders_for_tests import TableEmbedder

from tiered_memory import Memory, MemoryItem, NotFound, ReviewConflict, StoreError, memory

IDS = ("x", "y", "z")
URIS = tuple(
    f"viking://user/memories/{name}" for name in ("profile/x", "profile/x/y", "experiences/z", "experiences/z/w")
)
TIERS = ("semantic", "procedural")
SCOPES = (None, "a")
BOUND = 2
LIFETIME = 3600

_CALLS = {"active": 6, "candidate": 6, "promote": 4, "reject": 2, "update": 3, "forget": 2, "recall": 2, "clear": 0.1}
"""What a racer calls, by how often."""


@frozen
class Racer:
    """One process: what it works with, and a number that tells its texts from those of the others."""

    mem: Memory
    number: int
    rnd: random.Random
    tell: Callable[..., None]

    def anything(self, step: int) -> None:
        """One random call on one of few ids."""
        scope, tier, id_ = self.rnd.choice(SCOPES), self.rnd.choice(TIERS), self.rnd.choice(IDS)
        handle: Any = self.mem if scope is None else self.mem.scoped(scope)
        text = f"{self.number}.{step}" if self.rnd.random() < 0.7 else "exact"
        ttl = LIFETIME if self.rnd.random() < 0.2 else None
        kind = self.rnd.choices(
            ("active", "candidate", "promote", "reject", "update", "forget", "recall", "clear"),
            (6, 6, 4, 2, 3, 2, 2, 0.1),
        )[0]
        try:
            if kind in ("active", "candidate"):
                (done,) = handle.remember(MemoryItem(text, tier, id=id_, status=kind, ttl=ttl))
                self.tell(kind, text, done.outcome)
            elif kind == "promote":
                promoted = handle.review.promote(id_, tier)
                self.tell(kind, promoted.number)
            elif kind == "reject":
                handle.review.reject(id_, tier)
            elif kind == "update":
                handle.update(id_, tier, text=text, importance=self.rnd.random(), ttl=False if ttl else None)
            elif kind == "forget":
                handle.forget(id_, tier)
            elif kind == "recall":
                handle.recall("q", k=3, threshold=-1)
            else:
                handle.clear(tier) if scope else handle.forget(id_, tier)
        except (NotFound, ReviewConflict):
            pass

    def chain(self, step: int) -> None:
        """A new text at the one id, remembered, updated or claimed and promoted."""
        text, kind = f"{self.number}.{step}", self.rnd.choice(("remember", "claim", "promote", "reject"))
        if kind in ("remember", "claim"):
            item = MemoryItem(text, id="x", status="active" if kind == "remember" else "candidate")
            self.tell(kind, text, self.mem.remember(item)[0].outcome)
        else:
            (done,) = getattr(self.mem.review, f"{kind}_many")([("x", "semantic")])
            self.tell(done.outcome, done.candidate.text if done.candidate else None, done.active is not None)

    def tree(self, step: int) -> None:
        """One random call on a memory that is a document, through its tier or through the tree."""
        scope, uri = self.rnd.choice(SCOPES), self.rnd.choice(URIS)
        handle: Any = self.mem if scope is None else self.mem.scoped(scope)
        tier = "semantic" if "profile" in uri else "procedural"
        store = handle.store
        text, kind = (
            f"{self.number}.{step}",
            self.rnd.choice(("put", "remember", "promote", "reject", "forget", "tree")),
        )
        status = self.rnd.choice(("active", "candidate"))
        try:
            if kind == "put":
                done = store.memories.put(uri, text, self.rnd.random(), status=status, jobs=[("work", {})])
                self.tell(kind, text, done.outcome)
            elif kind == "remember":
                ttl = LIFETIME if self.rnd.random() < 0.2 else None
                handle.remember(MemoryItem(text, id=uri, status=status, ttl=ttl))
            elif kind == "promote":
                self.rnd.choice((store.memories.promote, lambda uri: handle.review.promote(uri, tier)))(uri)
            elif kind == "reject":
                store.memories.reject(uri)
            elif kind == "forget":
                self.rnd.choice((store.memories.forget, lambda uri: handle.forget(uri, tier)))(uri)
            elif self.rnd.random() < 0.3:
                store.documents.remove(self.rnd.choice((uri, "viking://user/memories/profile", "viking://user")))
            elif self.rnd.random() < 0.5:
                store.tags.set_enabled(uri, self.rnd.random() < 0.5)
            else:
                store.memories.recall(term=text)
        except (NotFound, ReviewConflict):
            pass

    def own_ids(self, step: int) -> None:
        """A memory at an id that no other uses, superseded and claimed, and said to be done once it is."""
        id_ = f"{self.number}.{step}"
        self.mem.remember(MemoryItem("near", id=id_))
        self.mem.remember(MemoryItem("exact", id=id_))
        self.mem.remember(MemoryItem("far", id=id_, status="candidate"))
        self.tell(id_)


def race(work: str, processes: int, steps: int, namespace: str, **settings: Any) -> list[Any]:
    """Lets `processes` do `work` for so many steps each; what was acknowledged to them, in no order."""
    program = start(work, processes, steps, namespace, **settings)
    said, errors = program.communicate(timeout=120)
    assert program.returncode == 0, errors
    return [json.loads(line) for line in said.splitlines()]


def start(work: str, processes: int, steps: int, namespace: str, **settings: Any) -> subprocess.Popen[str]:
    """Starts the processes; `settings` are those of the memory, and `url` or `data_dir` among them."""
    command = [sys.executable, __file__, work, str(processes), str(steps), namespace, json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _process(barrier: Any, out: Any, work: str, number: int, steps: int, namespace: str, settings: Any) -> None:
    def tell(*said: Any) -> None:
        line = json.dumps(said) + "\n"
        with out:
            sys.stdout.write(line)
            sys.stdout.flush()

    with memory(namespace=namespace, embedder=TableEmbedder(), **settings) as mem:
        racer = Racer(mem, number, random.Random(number), tell)
        mem.count()
        barrier.wait(60)
        try:
            for step in range(steps):
                getattr(racer, work)(step)
        except StoreError as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            sys.exit(1)


def _main(work: str, processes: int, steps: int, namespace: str, settings: Any) -> int:
    import redisvl.schema  # noqa: F401 - what takes long to import is imported once, before forking

    context = multiprocessing.get_context("fork")
    barrier, out = context.Barrier(processes), context.Lock()
    racing = [
        context.Process(target=_process, args=(barrier, out, work, number, steps, namespace, settings))
        for number in range(processes)
    ]
    for each in racing:
        each.start()
    for each in racing:
        each.join()
    return sum(each.exitcode != 0 for each in racing)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], json.loads(sys.argv[5])))
