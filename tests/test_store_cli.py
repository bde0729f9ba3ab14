"""The commands for documents, called as a user calls them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import CommandLine, of_its_own
from typer.testing import CliRunner

from tiered_memory import memory
from tiered_memory.cli.app import app
from tiered_memory.cli.completion import full_uri
from tiered_memory.store import Document

U = "viking://resources"
E = "viking://user/memories/events"


@pytest.fixture
def call(redis_url, namespace, monkeypatch, tmp_path):
    """Calls a command on the worker's Redis, in the test's namespace."""
    of_its_own(monkeypatch, tmp_path)
    return CommandLine(redis_url, namespace)


@pytest.fixture
def store(redis_url, namespace):
    """The store of the scope that the commands are called with."""
    with memory(redis_url, namespace=namespace) as mem:
        yield mem.scoped("a").store


@pytest.fixture
def filled(store):
    """The same with a few documents."""
    store.documents.put_many(
        [
            Document(f"{U}/tea/green.md", "# Green tea\nSteep it at 80 °C.\n", abstract="How to make it"),
            Document(f"{U}/tea/black.md", "# Black tea\nBoiling\x1b[0m water.\n"),
            Document(f"{U}/coffee.md", "# Coffee\nJust off the boil.\n"),
        ]
    )
    store.tags.set_enabled(f"{U}/coffee.md", False)
    store.tags.set_group(f"{U}/tea", "drinks")
    return store


class TestLooking:
    def test_ls(self, call, filled):
        """What stands directly below is listed, directories with a slash; the scheme may be left out."""
        for uri in (U, "resources", "resources/"):
            assert call("ls", uri, "--scope", "a").stdout == "coffee.md\ntea/\n"
        assert call.ask("ls", "--scope", "a") == {"entries": [{"name": "resources", "kind": "dir"}]}
        assert call("ls", "nowhere", "--scope", "a").exit_code == 1

    def test_tree(self, call, filled):
        """Documents are drawn as a tree, with their marks; a part of them says how to go on."""
        shown = call("tree", U, "--scope", "a").stdout
        assert [line.strip("│├└─ ") for line in shown.splitlines()] == [
            U, "coffee.md  (off)", "tea/", "black.md  (group drinks)", "green.md  (group drinks)",
        ]  # fmt: skip
        found = call.ask("tree", "--scope", "a", "--limit", "1")
        assert (found["total"], found["cursor"]) == (3, f"{U}/coffee.md")
        assert found["documents"] == [{"uri": f"{U}/coffee.md", "enabled": False, "group": ""}]
        assert f"--cursor {U}/coffee.md" in call("tree", "--scope", "a", "--limit", "1").stdout
        assert call("tree").stdout == "no documents\n"

    def test_tree_of_a_document(self, call, filled):
        """A document alone is a tree of itself."""
        assert call("tree", f"{U}/coffee.md", "--scope", "a").stdout == f"{U}/coffee.md\n"

    def test_cat(self, call, filled):
        """A document is printed as it is, or as JSON with all that is known of it."""
        assert call("cat", f"{U}/tea/green.md", "--scope", "a").stdout == "# Green tea\nSteep it at 80 °C.\n"
        known = call.ask("cat", f"{U}/coffee.md", "--scope", "a")
        assert (known["kind"], known["enabled"], known["stale"]) == ("doc", False, [])
        for uri in ("resources", "resources/none"):
            assert call("cat", uri, "--scope", "a").exit_code == 1

    def test_layers(self, call, filled):
        """A layer is the one that is stored, or what stands in for it."""
        assert call("cat", f"{U}/tea/green.md", "--abstract", "--scope", "a").stdout == "How to make it\n"
        assert call("cat", f"{U}/tea/black.md", "--abstract", "--scope", "a").stdout == "# Black tea\n"
        assert call.ask("cat", f"{U}/coffee.md", "--overview", "--scope", "a")["overview"].startswith("# Coffee")
        assert call("cat", U, "--abstract", "--overview").exit_code == 2


class TestWriting:
    def test_put(self, call, store, tmp_path):
        """A document is written from standard input or a local file, with the work that makes it searchable."""
        result = call("put", f"{U}/a", "--scope", "a", input="text\n")
        assert (result.exit_code, result.stdout) == (0, f"created {U}/a, 5 bytes; 3 jobs for a worker\n")
        (tmp_path / "local").write_text("é")
        written = call.ask("put", f"{U}/a", str(tmp_path / "local"), "--abstract", "short", "--scope", "a")
        assert (written["outcome"], len(written["jobs"])) == ("replaced", 2)
        assert (store.documents.get(f"{U}/a").content, store.documents.get(f"{U}/a").abstract) == ("é", "short")
        assert call("put", f"{U}/b", "--no-jobs", "--scope", "a", input="x").exit_code == 0
        assert store.jobs.stats()["pending"] == 5

    def test_put_what_is_no_text(self, call, store):
        """Bytes that aren't UTF-8 are refused."""
        refused = call("put", f"{U}/a", "--scope", "a", input=b"\xff")
        assert (refused.exit_code, "UTF-8" in refused.stderr) == (1, True)
        assert store.documents.count() == 0

    def test_put_a_memory(self, call, store):
        """At the URI of a memory what is written is remembered."""
        result = call("put", f"{E}/trip", "--scope", "a", input="We went to Lisbon\n")
        assert result.stdout == f"recorded in episodic: {E}/trip\n"
        assert [each.text for each in store.memories.recall()] == ["We went to Lisbon"]
        assert call("put", f"{E}/trip", "--abstract", "x", "--scope", "a", input="x").exit_code == 2
        assert call("put", "user/memories/dreams/a", "--scope", "a", input="x").exit_code == 1

    def test_rm(self, call, filled):
        """A document is removed; what has something below needs to be told so."""
        assert call("rm", f"{U}/coffee.md", "--scope", "a").stdout == "removed 1 document\n"
        refused = call("rm", U, "--scope", "a")
        assert (refused.exit_code, "--recursive" in refused.stderr) == (1, True)
        assert call.ask("rm", U, "-r", "--scope", "a") == {"removed": 2}
        assert call("rm", U, "--scope", "a").exit_code == 1


class TestFinding:
    def test_find(self, call, filled):
        """Documents and directories are found by a part of their paths."""
        assert call("find", "TEA", "--scope", "a").stdout.splitlines() == [
            f"{U}/tea/", f"{U}/tea/black.md", f"{U}/tea/green.md",
        ]  # fmt: skip
        assert len(call.ask("find", "tea", U, "--limit", "1", "--scope", "a")["matches"]) == 1
        assert call("find", "coffee", "--scope", "a").stdout == "nothing found\n"

    def test_grep(self, call, filled):
        """Lines are found with their URI and number, and nothing in them steers the terminal."""
        found = call("grep", "BOIL", "--scope", "a").stdout
        assert found == f"{U}/tea/black.md:2: Boiling\N{REPLACEMENT CHARACTER}[0m water.\n"
        assert call.ask("grep", "steep", "resources/tea", "--scope", "a")["lines"][0]["line"] == 2
        assert call("grep", "x", "nowhere", "--scope", "a").exit_code == 1

    @pytest.mark.parametrize("mode", ["keyword", "hybrid"])
    def test_search(self, call, filled, mode):
        """Documents are found that answer a query, with their abstract, best first."""
        shown = call("search", "green tea", "--mode", mode, "--scope", "a").stdout
        assert shown.splitlines()[0].endswith(f"{U}/tea/green.md")
        assert "How to make it" in shown
        hits = call.ask("search", "green tea", U, "-k", "1", "--mode", mode, "--scope", "a")
        assert [hit["uri"] for hit in hits["hits"]] == [f"{U}/tea/green.md"]
        assert hits["degraded"] == []
        assert call("search", "x", "--mode", "magic", "--scope", "a").exit_code == 1


class TestCompletion:
    @pytest.fixture
    def complete(self, redis_url, namespace, monkeypatch):
        """What the shell offers for the last word of a command line."""

        def complete(*words, url=redis_url):
            place = ["--url", url, "--namespace", namespace, "--scope", "a"]
            line = ["tiered-memory", words[0], *place, *words[1:]]
            monkeypatch.setenv("_TIERED_MEMORY_COMPLETE", "complete_bash")
            monkeypatch.setenv("COMP_WORDS", " ".join(line))
            monkeypatch.setenv("COMP_CWORD", str(len(line) - 1))
            return CliRunner().invoke(app, [], prog_name="tiered-memory").stdout.split()

        return complete

    @pytest.mark.parametrize(
        ("begun", "offered"),
        [
            ("vik", ["viking://resources", "viking://resources/"]),
            (f"{U}/", [f"{U}/coffee.md", f"{U}/tea", f"{U}/tea/"]),
            (f"{U}/t", [f"{U}/tea", f"{U}/tea/"]),
            ("resources/tea/g", ["resources/tea/green.md"]),
            ("//resources/c", ["//resources/coffee.md"]),
            (f"{U}/nowhere/", []),
            ("viking://a//b", []),
        ],
    )
    def test_offered(self, complete, filled, begun, offered):
        """URIs go on with what stands below, with the scheme, without it, or with what bash leaves of it."""
        assert sorted(complete("cat", begun)) == offered

    @pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "redis://nowhere.invalid:1/0", "nonsense"])
    def test_no_server(self, complete, url):
        """Where no server runs nothing is offered, and nothing fails."""
        assert complete("ls", "vik", url=url) == []

    def test_nothing_is_started(self, tmp_path):
        """Completion starts no server, and makes no folder."""
        line = f"tiered-memory ls --data-dir {tmp_path / 'new'} vik"
        script = "from tiered_memory.cli.app import app; app(prog_name='tiered-memory')"
        done = subprocess.run(
            [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=60, check=False,
            env={"_TIERED_MEMORY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": "4"},
        )  # fmt: skip
        assert (done.stdout.strip(), done.stderr) == ("", "")
        assert not (tmp_path / "new").exists()

    def test_full_uri(self):
        """A URI on the command line may lack its scheme, and have a slash at its end."""
        assert [full_uri(text) for text in ("", "a/", "viking://", "viking://a/")] == [
            "viking://", "viking://a", "viking://", "viking://a",
        ]  # fmt: skip
