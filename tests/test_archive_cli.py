"""The commands that export and import a scope, and those for sessions, called as a user calls them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tiered_memory import MemoryItem, memory
from tiered_memory.cli import archive, sessions


@pytest.fixture
def call(redis_url, namespace, monkeypatch):
    """Calls a command on the worker's Redis, in the test's namespace."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, app=archive.app, **settings):
        return CliRunner().invoke(app, [*arguments, "--url", redis_url, "--namespace", namespace], **settings)

    return call


@pytest.fixture
def mem(redis_url, namespace):
    """The memory that the commands are called on."""
    with memory(redis_url, namespace=namespace) as mem:
        yield mem


class TestArchive:
    @pytest.fixture
    def file(self, mem, tmp_path, call):
        """A file with what scope a holds."""
        mem.scoped("a").remember([MemoryItem("Likes tea.", id="tea"), MemoryItem("Met Bo.", "episodic")])
        file = str(tmp_path / "a.jsonl")
        assert call("export", file, "--scope", "a").exit_code == 0
        return file

    def test_export(self, call, file):
        """What was written is said, and a file that is there is replaced only if that is asked for."""
        refused = call("export", file, "--scope", "a")
        assert (refused.exit_code, "--force" in refused.stderr) == (2, True)
        said = call("export", file, "--scope", "a", "--force")
        assert said.stdout.startswith("wrote 2 records to ")
        data = json.loads(call("export", file, "--scope", "a", "--force", "--json").stdout)
        assert (data["records"], data["scope"]) == ({"memories": 2}, "a")

    def test_import(self, call, file, mem):
        """What was imported and what was there already is counted, by section."""
        first = json.loads(call("import", file, "--scope", "b", "--json").stdout)
        assert first == {"outcomes": {"memories": {"imported": 2}}, "conflicts": []}
        assert mem.scoped("b").get("tea", "semantic").text == "Likes tea."
        again = call("import", file, "--scope", "b")
        assert again.exit_code == 0
        assert again.stdout.split()[-5:] == ["memories", "0", "2", "0", "0"]

    def test_conflicts(self, call, file, mem):
        """What stands there otherwise is named."""
        mem.scoped("b").remember(MemoryItem("Likes cocoa.", id="tea"))
        assert "stays as it is: memories semantic tea" in call("import", file, "--scope", "b").stdout

    def test_check(self, call, file, mem):
        """A file can be checked without importing it."""
        assert "memories  2" in call("import", file, "--check", "--scope", "b").stdout
        assert mem.scopes().items == ["a"]
        with open(file, "ab") as opened:
            opened.write(b"more\n")
        refused = call("import", file, "--check")
        assert (refused.exit_code, refused.stderr.startswith("error: line 5")) == (1, True)

    def test_standard_streams(self, call, file, mem):
        """An archive goes through standard output and input."""
        data = call("export", "-", "--scope", "a").stdout_bytes
        assert data.splitlines()[0].startswith(b'{"format":')
        assert json.loads(call("import", "-", "--json", input=data).stdout)["outcomes"]["memories"] == {"imported": 2}
        assert mem.get("tea", "semantic").text == "Likes tea."


class TestSessions:
    @pytest.fixture
    def ask(self, call):
        """Calls a command for the sessions of scope a."""
        return lambda *arguments, **settings: call(*arguments, "--scope", "a", app=sessions.app, **settings)

    def test_a_conversation(self, ask):
        """A session is created, appended to, shown, committed and removed."""
        assert ask("ls").stdout == "no sessions\n"
        session = ask("new").stdout.strip()
        assert ask("append", session, "user", "Tea?").stdout == f"message 0 of session {session}\n"
        ask("append", session, "assistant", input="Yes,\nplease.\x1b[0m")
        assert ask("ls").stdout == f"{session}\n"
        assert [line.split() for line in ask("cat", session).stdout.splitlines()] == [
            ["0", "user", "Tea?"],
            ["1", "assistant", "Yes,", "please.\N{REPLACEMENT CHARACTER}[0m"],
        ]
        assert ask("commit", session, "viking://user/talk").stdout == "committed: viking://user/talk\n"
        assert ask("commit", session, "viking://user/talk").stdout == "unchanged: viking://user/talk\n"
        assert ask("rm", session).stdout == "removed a session of 2 messages\n"
        refused = ask("cat", session)
        assert (refused.exit_code, refused.stderr.startswith("error: there is no session")) == (1, True)

    def test_json(self, ask):
        """Each command answers in JSON as well."""
        session = json.loads(ask("new", "--json").stdout)["session"]
        for number in range(3):
            assert json.loads(ask("append", session, "user", str(number), "--json").stdout)["seq"] == number
        page = json.loads(ask("cat", session, "--limit", "2", "--json").stdout)
        assert ([each["content"] for each in page["messages"]], page["cursor"]) == (["0", "1"], "2")
        assert json.loads(ask("ls", "--json").stdout) == {"sessions": [session], "cursor": None}
        found = json.loads(ask("context", session, "--tokens", "8", "--json").stdout)
        assert (len(found["messages"]) + found["left_out"], found["summary"]) == (3, None)
        assert "left out" in ask("context", session, "--tokens", "1").stdout
