"""Many processes on one queue, a worker that is killed, and a server that is: no job is claimed twice, none is lost."""

from __future__ import annotations

import json
import os
import signal

import pytest
from embedders_for_tests import TableEmbedder
from job_workers import LEASE, start
from redis import Redis
from servers import wait_until
from stores import store_of

from tiered_memory import memory
from tiered_memory.engine.embedded import EmbeddedRedis


def said(lines):
    """What processes said, by its kind."""
    found = {"claimed": [], "enqueued": [], "completed": []}
    for kind, *rest in map(json.loads, lines):
        found[kind].append(rest)
    return found


class TestProcesses:
    @pytest.mark.parametrize("partitions", [1, 3])
    def test_claims(self, redis_url, namespace, partitions):
        """Of 8 processes that claim at once none gets another's job, and every job is done once."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), partitions=partitions) as mem:
            ids = set()
            for number in range(40):
                documents = store_of(mem.scoped(f"user:{number % 7}")).documents
                ids.update(documents.put(f"viking://r/{number}", "text", jobs=[("work", {})] * 20).jobs)
            working = start("claim_all", 8, namespace, url=redis_url, partitions=partitions)
            lines, errors = working.communicate(timeout=100)
            assert working.returncode == 0, errors
            told = said(lines.splitlines())
            ids.update(id for (id,) in told["enqueued"])
            claimed = [id for id, _ in told["claimed"]]
            assert len(told["enqueued"]) > 50
            assert sorted(claimed) == sorted(id for (id,) in told["completed"]) == sorted(ids)
            assert {attempts for _, attempts in told["claimed"]} == {1}
            assert store_of(mem).jobs.stats() == {"pending": 0, "running": 0, "done": len(ids), "failed": 0}


class TestKilled:
    def test_worker(self, redis_url, namespace):
        """A worker that is killed loses its job once its lease runs out, not before, and the attempt counts."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
            jobs = store_of(mem).jobs
            id = jobs.enqueue("work")
            working = start("hang", 1, namespace, url=redis_url)
            try:
                assert json.loads(working.stdout.readline()) == ["claimed", id, 1]
                wait_until(lambda: _lease(redis_url, namespace) > 1)  # it was renewed more than once
                assert jobs.recover() == 0
                assert jobs.claim("work") is None
            finally:
                working.send_signal(signal.SIGKILL)
                working.communicate(timeout=10)
            found = []
            wait_until(lambda: found.append(jobs.claim("work")) or found[-1] is not None)
            assert (found[-1].id, found[-1].attempts, found[0]) == (id, 2, None)

    def test_server(self, tmp_path, namespace):
        """A server that is killed amid writes has every acknowledged document with its jobs, and each is done once."""
        settings = {"data_dir": str(tmp_path), "retries": 0}
        with EmbeddedRedis.open(tmp_path) as hold, Redis(unix_socket_path=str(hold.socket)) as plain:
            pid = plain.info("server")["process_id"]
            working = start("enqueue_and_claim", 4, namespace, **settings)
            lines = [working.stdout.readline() for _ in range(400)]
            os.kill(pid, signal.SIGKILL)
            rest, errors = working.communicate(timeout=60)
        assert "StoreUnavailable" in errors
        told = said([*lines, *rest.splitlines()])
        completed = [id for (id,) in told["completed"]]
        assert len(completed) == len(set(completed)) > 50
        with EmbeddedRedis.open(tmp_path), memory(namespace=namespace, embedder=TableEmbedder(), **settings) as mem:
            store = store_of(mem)
            assert {store.documents.get(uri).content for _, uri in told["enqueued"][::10]} == {"text"}
            stats = store.jobs.stats()
            assert sum(stats.values()) >= len(told["enqueued"])
            assert stats["done"] >= len(completed)
            done = _done(tmp_path, namespace)
            assert set(completed) <= done
            left = set()
            wait_until(lambda: _drain(store.jobs, left) and store.jobs.stats()["running"] == 0, LEASE + 10)
            assert {id for id, _ in told["enqueued"]} <= done | left
            assert not done & left


def _lease(url, namespace):
    """How often the one lease has been another one."""
    with Redis.from_url(url) as client:
        seen = _lease.__dict__.setdefault(namespace, set())
        seen.update(score for _, score in client.zrange(f"{{{namespace}:0}}:job_times:running", 0, -1, withscores=True))
        return len(seen) - 1


def _done(folder, namespace):
    """The ids of the jobs that are done."""
    with EmbeddedRedis.open(folder) as hold, Redis(unix_socket_path=str(hold.socket)) as plain:
        return {int(member) for member in plain.zrange(f"{{{namespace}:0}}:job_times:done", 0, -1)}


def _drain(jobs, found):
    """Claims and completes all that there is; true."""
    while job := jobs.claim("work"):
        assert jobs.complete(job)
        found.add(job.id)
    return True
