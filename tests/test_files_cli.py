"""The commands for files, called as a user calls them."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tiered_memory import memory
from tiered_memory.cli.app import app


@pytest.fixture
def call(redis_url, namespace, monkeypatch):
    """Calls a command for files on the worker's Redis, in the test's namespace."""
    monkeypatch.setenv("COLUMNS", "100")

    def call(*arguments, **settings):
        place = ("--url", redis_url, "--namespace", namespace)
        return CliRunner().invoke(app, ["files", *arguments, *place], **settings)

    return call


@pytest.fixture
def files(redis_url, namespace):
    """The files of the scope that the commands are called with."""
    with memory(redis_url, namespace=namespace) as mem:
        yield mem.scoped("a").files


def test_put_and_cat(call, files, tmp_path):
    """A file is written from standard input or a local file, and printed byte for byte."""
    result = call("put", "/a.md", "--scope", "a", input=b"x" * 200 + b"\r\n\xff")
    assert (result.exit_code, result.stdout.split(",")[0]) == (0, "wrote /a.md")
    assert call("cat", "/a.md", "--scope", "a").stdout_bytes == files.read("/a.md").content == b"x" * 200 + b"\r\n\xff"
    (tmp_path / "local").write_text("text\n")
    assert call("put", "/b.md", str(tmp_path / "local"), "--scope", "a").exit_code == 0
    details = json.loads(call("cat", "/b.md", "--scope", "a", "--json").stdout)
    assert (details["text"], details["size"], details["mime"]) == ("text\n", 5, "text/markdown")
    assert "base64" in json.loads(call("cat", "/a.md", "--scope", "a", "--json").stdout)


def test_put_carefully(call, files):
    """A file can be created only, or overwritten only if it is the one that is meant."""
    files.write("/a", "one")
    for options in (["--new"], ["--if-match", "0" * 64]):
        refused = call("put", "/a", "--scope", "a", *options, input="two")
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert refused.stderr.startswith("error: ")
    assert files.read("/a").text == "one"


def test_ls(call, files):
    """Files are listed with their size, by folder and pattern, in parts."""
    for path in ("/a.md", "/b/c.md", "/b/d.txt"):
        files.write(path, "four")
    assert [line.split()[-1] for line in call("ls", "--scope", "a").stdout.splitlines()] == [
        "/a.md",
        "/b/c.md",
        "/b/d.txt",
    ]
    listed = json.loads(call("ls", "/b", "--pattern", "*.md", "--scope", "a", "--json").stdout)
    assert [(info["path"], info["size"]) for info in listed["files"]] == [("/b/c.md", 4)]
    assert "--cursor /a.md" in call("ls", "--limit", "1", "--scope", "a").stdout
    assert call("ls").stdout == "no files\n"


def test_edit(call, files):
    """A text that occurs once is replaced; more than once needs --all."""
    files.write("/a", "one one two")
    assert call("edit", "/a", "two", "2", "--scope", "a").exit_code == 0
    refused = call("edit", "/a", "one", "1", "--scope", "a")
    assert (refused.exit_code, "several times" in refused.stderr) == (1, True)
    assert call("edit", "/a", "one", "1", "--all", "--scope", "a").exit_code == 0
    assert files.read("/a").text == "1 1 2"


def test_mv_and_rm(call, files):
    """Files and folders are moved and deleted."""
    files.write("/a/b", "")
    assert call("mv", "/a", "/c", "--scope", "a").stdout == "moved 1 file\n"
    assert call("rm", "/c", "--scope", "a").exit_code == 1
    assert call("rm", "/c", "-r", "--scope", "a").stdout == "deleted 1 file\n"
    assert files.list().items == []


def test_find(call, files):
    """Lines are found with their path and number."""
    files.write("/a", "Tea\nno\ntea\x1b[0m")
    assert call("find", "tea", "--scope", "a").stdout == "/a:3: tea\N{REPLACEMENT CHARACTER}[0m\n"
    found = json.loads(call("find", "tea", "-i", "--limit", "1", "--scope", "a", "--json").stdout)
    assert found == {"lines": [{"path": "/a", "number": 1, "text": "Tea"}], "truncated": True}
    assert call("find", "coffee", "--scope", "a").stdout == "nothing found\n"
