"""The commands for jobs and the worker, called as a user calls them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, of_its_own
from servers import wait_until
from stores import store_of

from tiered_memory import EntityRef, GraphConfig, memory
from tiered_memory.embedders import StaticEmbedder

U = "viking://resources"

OWN = """
def summarise(text):
    return "about " + text

def do(job):
    raise ValueError

these = {"work": do}
"""


EXTRACTOR = """
from tiered_memory.graph import EntityRef, FixedExtractor

extractor = FixedExtractor([EntityRef("person", "Ana")])
"""


@pytest.fixture
def call(redis_url, namespace, monkeypatch, tmp_path):
    """Calls commands on the worker's Redis, in the test's namespace."""
    of_its_own(monkeypatch, tmp_path)
    monkeypatch.chdir(tmp_path)
    return CommandLine(redis_url, namespace)


@pytest.fixture
def store(redis_url, namespace):
    """The store of the scope that the commands are called with."""
    with memory(redis_url, namespace=namespace, embedder=StaticEmbedder()) as mem:
        yield store_of(mem.scoped("a"))


class TestJobs:
    def test_stats(self, call, store):
        """Jobs are counted by status, of one scope or of all."""
        store.jobs.enqueue("work")
        assert call.ask("jobs", "stats") == {"pending": 1, "running": 0, "done": 0, "failed": 0}
        assert call.ask("jobs", "stats", "--scope", "b")["pending"] == 0
        assert call("jobs", "stats", "--scope", "a").stdout.split()[:2] == ["pending", "1"]

    def test_detail(self, call, store):
        """What waits and what failed is shown, with the kind of failure."""
        assert call("jobs", "detail").stdout == "nothing waits that could be run\nnone has failed\n"
        id = store.jobs.enqueue("work", {"uri": f"{U}/x", "secret": "hunter2"})
        store.jobs.fail(id := store.jobs.claim("work").id, "rate_limited", again=False)
        store.jobs.enqueue("other")
        shown = call("jobs", "detail").stdout
        assert "the oldest waits for 0." in shown
        assert shown.splitlines()[2].split()[-4:] == ["work", "rate_limited", "1", f"{U}/x"]
        found = call.ask("jobs", "detail", "--scope", "a")
        assert [(job["id"], job["last_error"]) for job in found["failed"]] == [(id, "rate_limited")]
        assert "hunter2" not in str(found)

    def test_cancel(self, call, store):
        """The jobs about a URI are dropped."""
        store.jobs.enqueue("work", {"uri": f"{U}/x"})
        assert call.ask("jobs", "cancel", U) == {"cancelled": 0}
        assert call("jobs", "cancel", U, "--scope", "a").stdout == "cancelled 1 job\n"
        assert call("jobs", "cancel", "nonsense").exit_code == 1


class TestWorker:
    def test_until_idle(self, call, store):
        """Documents are worked on until nothing is left."""
        store.documents.put(f"{U}/x", "text", jobs=[("summarize_abstract", {})])
        assert call("worker", "--until-idle").stdout == "jobs: 1 done\n"
        assert call.ask("worker", "--until-idle")["done"] == 0
        assert store.jobs.stats()["done"] == 1

    def test_own_functions(self, call, store, tmp_path):
        """Own handlers and a summariser are imported from where one is."""
        (tmp_path / "my_worker_of_a_test.py").write_text(OWN)
        store.documents.put(f"{U}/x", "text", jobs=[("summarize_abstract", {})])
        store.jobs.enqueue("work")
        module = "my_worker_of_a_test"
        options = ("--handlers", f"{module}:these", "--summarise", f"{module}:summarise")
        done = call("worker", "--until-idle", *options)
        assert done.stdout == "jobs: 1 done, 1 to be tried again\n"
        assert store.layers.abstract(f"{U}/x") == "about text"

    def test_memories(self, call, store, redis_url, namespace, tmp_path):
        """Memories are indexed by patterns or an extractor of one's own, and left to others without any."""
        graph = GraphConfig(background=True)
        with memory(redis_url, namespace=namespace, embedder=StaticEmbedder(), graph=graph) as mem:
            mine = mem.scoped("a")
            mine.remember("we closed TICKET-7")
            assert call.ask("worker", "--until-idle")["done"] == 0
            assert call.ask("worker", "--until-idle", "--extractor", "patterns")["done"] == 1
            assert list(mine.graph.frequencies()) == [EntityRef("Ticket", "TICKET-7")]
            (tmp_path / "extractor_of_a_test.py").write_text(EXTRACTOR)
            mine.remember("q", id="x")
            own = call.ask("worker", "--until-idle", "--extractor", "extractor_of_a_test:extractor")
            assert (own["done"], mine.graph.neighbors([EntityRef("person", "Ana")])) == (1, ["x"])

    @pytest.mark.parametrize("name", ["nowhere", "nowhere:x", "json:nothing", "json"])
    def test_not_importable(self, call, name):
        """What can't be imported is refused."""
        refused = call("worker", "--until-idle", "--handlers", name)
        assert refused.exit_code == 2
        assert "MODULE:NAME" in refused.stderr

    @pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
    def test_told_to_stop(self, redis_url, namespace, store, tmp_path, told):
        """On SIGTERM or Ctrl-C what runs is finished, what can't be is given back, and the worker says what it did."""
        (tmp_path / "slow.py").write_text(
            "import time\nthese = {'short': lambda job: time.sleep(0.5), 'long': lambda job: time.sleep(60)}\n"
        )
        for kind in ("short", "long"):
            store.jobs.enqueue(kind)
        program = str(Path(sys.executable).with_name("tiered-memory"))
        place = ("--url", redis_url, "--namespace", namespace, "--json")
        command = [program, "worker", "--handlers", "slow:these", "--grace", "1", *place]
        working = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: store.jobs.stats()["running"] == 2, 30)
            working.send_signal(told)
            said, _ = working.communicate(timeout=20)
        finally:
            working.kill()
        assert working.returncode == 0
        report = json.loads(said)
        assert (report["done"], report["given_back"]) == (1, 1)
        assert store.jobs.stats() == {"pending": 1, "running": 0, "done": 1, "failed": 0}
