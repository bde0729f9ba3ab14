"""The backend for deepagents: the standard tests of its sandboxes, what they leave out, and an agent that uses it."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("deepagents")
pytest.importorskip("langchain_tests")

from deepagents.backends.composite import CompositeBackend
from deepagents.backends.protocol import ExecuteResponse
from langchain_tests.integration_tests import SandboxIntegrationTests

from tiered_memory import memory
from tiered_memory.errors import TieredMemoryError
from tiered_memory.files import FileSystem, Mount
from tiered_memory.integrations.deepagents import FilesBackend

ROOT = "/tmp/test_sandbox_ops"
"""Where the standard tests have their files."""


class WithShell(FilesBackend):
    """The backend with a shell, with which the standard tests prepare and look at files: it works on copies."""

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        with TemporaryDirectory() as folder:
            for info in self._files.list(ROOT).items:
                path = Path(folder + info.path.removeprefix(ROOT))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(self._files.read(info.path).content)
            ran = subprocess.run(
                ["bash", "-c", command.replace(ROOT, folder)],
                env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
                capture_output=True, text=True, timeout=30, check=False,
            )  # fmt: skip
            self._files.delete(ROOT, recursive=True, missing_ok=True)
            for path in Path(folder).rglob("*"):
                if path.is_file() and path.stat().st_mode & stat.S_IRUSR:
                    self._files.write(f"{ROOT}/{path.relative_to(folder)}", path.read_bytes())
        return ExecuteResponse(output=ran.stdout, exit_code=ran.returncode)

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return await asyncio.to_thread(self.execute, command)


ABSOLUTE = "the protocol's glob gives absolute paths"


def differs(reason: str) -> pytest.MarkDecorator:
    """Marks a standard test whose expectation isn't that of deepagents' own protocol."""
    return pytest.mark.xfail(reason=f"{reason} (deepagents 0.7.32, langchain-tests 1.1.9)", strict=True)


class TestStandard(SandboxIntegrationTests):
    @pytest.fixture
    def sandbox(self, mem):
        return WithShell(FileSystem(mem.scoped("user:42"), max_bytes=16 * 1024 * 1024))

    @pytest.fixture
    def sandbox_backend(self, sandbox):
        return sandbox

    @differs("the protocol's write overwrites")
    def test_write_existing_file_fails(self, sandbox_backend, sandbox_test_root):
        super().test_write_existing_file_fails(sandbox_backend, sandbox_test_root)

    @differs("the protocol's folders end with a slash, and folders without files are not kept")
    def test_ls_lists_nested_directories(self, sandbox_backend, sandbox_test_root):
        super().test_ls_lists_nested_directories(sandbox_backend, sandbox_test_root)

    @differs("the protocol's glob gives files only")
    def test_glob_with_directories(self, sandbox_backend, sandbox_test_root):
        super().test_glob_with_directories(sandbox_backend, sandbox_test_root)

    @differs(ABSOLUTE)
    def test_glob(self, sandbox_backend, sandbox_test_root):
        super().test_glob(sandbox_backend, sandbox_test_root)

    @differs(ABSOLUTE)
    def test_glob_basic_pattern(self, sandbox_backend, sandbox_test_root):
        super().test_glob_basic_pattern(sandbox_backend, sandbox_test_root)

    @differs(ABSOLUTE)
    def test_glob_hidden_files_explicitly(self, sandbox_backend, sandbox_test_root):
        super().test_glob_hidden_files_explicitly(sandbox_backend, sandbox_test_root)

    @differs(ABSOLUTE)
    def test_glob_with_character_class(self, sandbox_backend, sandbox_test_root):
        super().test_glob_with_character_class(sandbox_backend, sandbox_test_root)

    @differs(ABSOLUTE)
    def test_glob_with_question_mark(self, sandbox_backend, sandbox_test_root):
        super().test_glob_with_question_mark(sandbox_backend, sandbox_test_root)


@pytest.fixture
def mem(redis_url, namespace, embedder):
    """A blocking memory."""
    with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
        yield mem


@pytest.fixture
def backend(mem):
    """A backend with a few files."""
    files = mem.scoped("user:42").files
    for path in ("/a.md", "/docs/b.md", "/docs/deep/c.txt", "/.github/ci.yml"):
        files.write(path, f"path {path}\nsecond line\n")
    return FilesBackend(files)


class TestResults:
    def test_ls(self, backend):
        """A listing has what stands directly in a folder; folders end with a slash."""
        entries = backend.ls("/").entries
        assert [(each["path"], each["is_dir"]) for each in entries] == [
            ("/.github/", True), ("/a.md", False), ("/docs/", True),
        ]  # fmt: skip
        assert entries[1]["size"] == 23
        assert [each["path"] for each in backend.ls("/docs/").entries] == ["/docs/b.md", "/docs/deep/"]
        assert backend.ls("/nowhere").entries == []

    def test_read(self, backend):
        """A read gives the raw lines of its window, and where the next one begins."""
        read = backend.read("/a.md", offset=-3, limit=1)
        assert (read.file_data["content"], read.start_line, read.next_offset) == ("path /a.md", 1, 1)
        assert backend.read("/a.md", limit=0).no_lines_requested
        assert "exceeds file length" in backend.read("/a.md", offset=9).error
        assert backend.read("/b.md").error == "Error: File '/b.md' not found"

    def test_edit(self, backend):
        """An edit tells how often it replaced, and why it didn't."""
        assert backend.edit("/a.md", "e", "E", replace_all=True).occurrences == 2
        assert "multiple" in backend.edit("/a.md", "E", "e").error
        assert "not found in file" in backend.edit("/a.md", "zzz", "e").error
        assert "without" not in backend.edit("/a.md", "", "e").error
        backend.write("/n.md", "no end")
        assert "does not end with a newline" in backend.edit("/n.md", "end\n", "x\n").error

    def test_glob(self, backend):
        """A bare pattern is one of names, one with a slash of whole paths; braces work, and `..` is refused."""
        found = {
            pattern: [each["path"] for each in backend.glob(pattern).matches]
            for pattern in ("*.yml", "**/*.yml", "/*.md", "{a,b}.md", "docs/**/*.txt")
        }
        assert found == {
            "*.yml": ["/.github/ci.yml"],
            "**/*.yml": [],
            "/*.md": ["/a.md"],
            "{a,b}.md": ["/a.md", "/docs/b.md"],
            "docs/**/*.txt": ["/docs/deep/c.txt"],
        }
        assert "not allowed" in backend.glob("../*").error

    def test_grep(self, backend):
        """A search is literal, in a folder or one file, and says when its cap cut it short."""
        whole = backend.grep("second")
        assert (len(whole.matches), whole.truncated) == (4, False)
        cut = backend.grep("second", max_count=3)
        assert (len(cut.matches), cut.truncated) == (3, True)
        assert not backend.grep("second", max_count=4).truncated
        assert backend.grep("p.th").matches == []
        assert backend.grep("path", "/a.md").matches == [{"path": "/a.md", "line": 1, "text": "path /a.md"}]
        assert [each["path"] for each in backend.grep("path", "/docs", "*.md").matches] == ["/docs/b.md"]

    def test_delete(self, backend):
        """A folder is deleted with all that is below; what isn't there can't be."""
        assert backend.delete("/docs/").error is None
        assert [each["path"] for each in backend.ls("/").entries] == ["/.github/", "/a.md"]
        assert backend.delete("/docs").error == "Error: File '/docs' not found"

    def test_up_and_down(self, backend):
        """Files go up and down each for itself, with the codes of the protocol."""
        up = backend.upload_files([("/x", b"\xff"), ("/../x", b""), ("/a.md/x", b"")])
        assert [each.error for each in up][:2] == [None, "invalid_path"]
        assert "is a file" in up[2].error
        down = backend.download_files(["/x", "/docs", "/y", "x"])
        assert [each.error for each in down] == [None, "is_directory", "file_not_found", "invalid_path"]
        assert down[0].content == b"\xff"
        assert base64.b64decode(backend.read("/x").file_data["content"]) == b"\xff"

    def test_never_raises(self, mem):
        """Whatever is wrong is in the result."""
        backend = FilesBackend(FileSystem(mem, mounts=[Mount("/fixed", read_only=True)], max_bytes=10))
        for path in ("/../x", "x", "/a//b", "~/x", "C:\\x"):
            for result in (
                backend.ls(path),
                backend.read(path),
                backend.write(path, ""),
                backend.edit(path, "a", "b"),
                backend.delete(path),
                backend.grep("a", path),
                backend.glob("*", path),
            ):
                assert result.error
        assert "read-only" in backend.write("/fixed/a", "").error
        assert backend.upload_files([("/fixed/a", b"")])[0].error == "permission_denied"
        assert "at most 10" in backend.write("/a", "x" * 11).error
        assert backend.grep("").error

    async def test_async(self, backend):
        """The async methods answer as the blocking ones."""
        assert await backend.als("/") == backend.ls("/")
        assert (await backend.agrep("second", max_count=1)).truncated

    def test_mounted(self, mem, backend):
        """Under a prefix of a composite backend its files are seen below that prefix."""
        composite = CompositeBackend(default=FilesBackend(mem.files), routes={"/memories/": backend})
        assert composite.read("/memories/a.md").file_data["content"].startswith("path /a.md")
        composite.write("/memories/new.md", "x")
        composite.write("/new.md", "y")
        assert mem.scoped("user:42").files.read("/new.md").text == "x"
        assert mem.files.read("/new.md").text == "y"
        with pytest.raises(TieredMemoryError):
            mem.files.read("/memories/new.md")
