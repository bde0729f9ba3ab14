"""The files of a scope: the contract over our store and over callbacks, and what our store promises beyond it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib import import_module
from typing import Any
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import run_together
from redis import Redis
from shorthand import NOON, frozen

from tiered_memory import Memory, ScopedMemory, memory
from tiered_memory.errors import (
    BadPath,
    ConfigError,
    CorruptRecord,
    FileExists,
    FileNotFound,
    InvalidInput,
    InvalidQuery,
    MissingExtra,
    ReadOnly,
)
from tiered_memory.files import AsyncFileSystem, FileCallbacks, FileSystem, Mount
from tiered_memory.testing import FileStoreContract


def file_system(mem: Any, *arguments: Any, **settings: Any) -> Any:
    """A file system in the mode of the memory."""
    if isinstance(mem, Memory | ScopedMemory):
        return FileSystem(mem, *arguments, **settings)
    return type(mem)(AsyncFileSystem(handle(mem), *arguments, **settings), mem._loop)


def handle(mem: Any) -> Any:
    """The handle itself, which in async mode is wrapped."""
    return mem if isinstance(mem, Memory | ScopedMemory) else mem._handle


def callbacks(files: dict[str, Any]) -> FileCallbacks:
    """All four callbacks over a dictionary."""
    return FileCallbacks(
        on_write=lambda scope, path, content, context: files.update({path: content}),
        on_read=lambda scope, path, context: files.get(path),
        on_delete=lambda scope, path, context: files.pop(path),
        on_list=lambda scope, context: list(files),
    )


class TestOurStore(FileStoreContract):
    @pytest.fixture(autouse=True)
    def _open(self, mem):
        self.mem = mem

    def file_system(self):
        return file_system(self.mem)


class TestCallbacks(FileStoreContract):
    @pytest.fixture(autouse=True)
    def _open(self, mem):
        self.mem = mem

    def file_system(self):
        return file_system(self.mem, callbacks({}))


class TestCallbacksThatOnlyTell(FileStoreContract):
    @pytest.fixture(autouse=True)
    def _open(self, mem):
        self.mem = mem

    def file_system(self):
        ignore = FileCallbacks(on_write=lambda *_: None)
        return file_system(self.mem, ignore, debounce=0.01)


class TestModel:
    """Our store against a dictionary."""

    names = st.text(st.characters(exclude_characters="/\\\0%", exclude_categories=["Cs"]), min_size=1, max_size=4)
    paths = (
        st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=3)
        .map(lambda parts: normalize("NFC", "/" + "/".join(parts)))
        .filter(lambda path: not {"", ".", ".."} & set(path[1:].split("/")))
    )
    steps = st.lists(st.tuples(st.sampled_from(["write", "delete", "move"]), paths, paths, st.binary(max_size=8)))

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(steps=steps, data=st.data())
    def test_a_dictionary(self, redis_url, namespace, embedder, steps, data):
        """Any writes, deletions and moves leave the files that they would leave in a dictionary."""
        model: dict[str, bytes] = {}
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            mem.clear()
            for kind, path, target, content in steps:
                known = data.draw(st.sampled_from([path, *model]))
                self._step(mem.files, model, kind, known, target, content)
            assert [info.path for info in mem.files.list().items] == sorted(model)
            assert {path: mem.files.read(path).content for path in model} == model
            mem.clear()
            assert mem.scopes().items == []

    def _step(self, files, model, kind, path, target, content):
        below = [each for each in model if each.startswith(f"{path}/")]
        if kind == "write":
            if below or any(path.startswith(f"{each}/") for each in model):
                with pytest.raises(FileExists):
                    files.write(path, content)
            else:
                files.write(path, content)
                model[path] = content
        elif kind == "delete":
            assert files.delete(path, missing_ok=True, recursive=True) == len(below) + (path in model)
            for each in [path, *below]:
                model.pop(each, None)
        else:
            moving = [path] if path in model else below
            try:
                moved = files.move(path, target)
            except FileNotFound:
                assert not moving
                return
            except (BadPath, FileExists):
                assert self._in_the_way(model, path, target)
                return
            assert moved == (0 if path == target else len(moving))
            for each in moving:
                model[target + each[len(path) :]] = model.pop(each)

    def _in_the_way(self, model, path, target):
        others = [each for each in model if each != path]
        return target.startswith(f"{path}/") or any(
            each == target or each.startswith(f"{target}/") or target.startswith(f"{each}/") for each in others
        )


class TestTree:
    def test_files_and_folders_never_meet(self, mem):
        """In our store nothing is below a file, and no file is where a folder is."""
        files = file_system(mem)
        files.write("/a", "")
        files.write("/b/c", "")
        for work in (
            lambda: files.write("/a/x/y", ""),
            lambda: files.write("/b", ""),
            lambda: files.move("/b/c", "/a/c"),
        ):
            with pytest.raises(FileExists):
                work()
        files.move("/a", "/a2")
        files.write("/a/x/y", "")

    def test_a_file_moves_below_its_own_name(self, mem):
        """A file may not move below itself."""
        files = file_system(mem)
        files.write("/a", "")
        with pytest.raises(BadPath):
            files.move("/a", "/a/b")

    def test_paths_that_would_become_too_long(self, mem):
        """A folder doesn't move where a path of its files would be longer than is allowed."""
        files = file_system(mem)
        files.write(f"/a/{'x' * 1000}", "")
        with pytest.raises(BadPath):
            files.move("/a", f"/{'y' * 100}")
        assert files.list().items[0].path == f"/a/{'x' * 1000}"


class TestScopes:
    def test_the_same_path_in_two_scopes(self, mem):
        """The same path in two scopes is two files."""
        one, two = file_system(mem.scoped("one")), file_system(mem.scoped("two"))
        one.write("/a", "1")
        two.write("/a", "2")
        assert (one.read("/a").text, two.read("/a").text) == ("1", "2")
        with pytest.raises(FileNotFound):
            file_system(mem).read("/a")

    def test_a_scope_with_files_holds_something(self, mem):
        """A scope that has only files is listed until the last of them is gone."""
        files = file_system(mem.scoped("one"))
        files.write("/a", "")
        files.write("/b", "")
        files.delete("/a")
        assert mem.scopes().items == ["one"]
        files.delete("/b")
        assert mem.scopes().items == []

    def test_memories_and_files_share_a_scope(self, mem):
        """Forgetting the memories of a tier leaves the files, and the last file's end leaves the memories."""
        scope = mem.scoped("one")
        scope.remember("exact")
        file_system(scope).write("/a", "")
        scope.clear("semantic")
        assert mem.scopes().items == ["one"]
        scope.remember("exact")
        file_system(scope).delete("/a")
        assert mem.scopes().items == ["one"]

    @pytest.mark.parametrize("end", ["clear", "clear_everywhere", "erase"])
    def test_the_whole_scope(self, mem, redis_url, namespace, end):
        """Clearing or erasing a scope takes its files, however many, and leaves no key of them."""
        scope, other = mem.scoped("one"), file_system(mem.scoped("two"))
        files = file_system(scope)
        for number in range(1100):
            files.write(f"/{number}", "")
        other.write("/a", "")
        {"clear": scope.clear, "clear_everywhere": mem.clear, "erase": lambda: mem.erase("one")}[end]()
        assert files.list().items == []
        left = [] if end == "clear_everywhere" else ["two"]
        assert mem.scopes().items == left
        with Redis.from_url(redis_url) as client:
            assert len(list(client.scan_iter(match=f"{{{namespace}:*}}:file:*"))) == len(left)

    def test_partitions(self, open_memory):
        """Scopes of any partition keep their files, and clearing all of them takes every file."""
        mem = open_memory(partitions=8)
        scopes = [str(number) for number in range(20)]
        for scope in scopes:
            file_system(mem.scoped(scope)).write("/a", scope)
        assert [file_system(mem.scoped(scope)).read("/a").text for scope in scopes] == scopes
        assert sorted(mem.scopes().items) == sorted(scopes)
        mem.clear()
        assert mem.scopes().items == []

    def test_files_are_no_memories(self, mem):
        """A file is neither recalled nor counted."""
        file_system(mem).write("/exact", "exact")
        assert (mem.recall("q"), mem.count()) == ([], 0)


class TestTimes:
    def test_created_and_modified(self, mem):
        """A file keeps when it was created; a change sets when it was modified, a move doesn't."""
        files = file_system(mem)
        with frozen() as time:
            files.write("/a", "one")
            time.tick(60)
            files.edit("/a", "one", "two")
            time.tick(60)
            files.move("/a", "/b")
        info = files.list().items[0]
        assert (info.path, info.created_at, info.modified_at - info.created_at) == ("/b", NOON, timedelta(minutes=1))

    @pytest.mark.parametrize(
        ("path", "content", "mime"),
        [("/a.md", b"", "text/markdown"), ("/a", b"x", "text/plain"), ("/a", b"\xff", "application/octet-stream")],
    )
    def test_media_type(self, mem, path, content, mime):
        """The media type is what the name says, else text or bytes; one that is given stays through edits."""
        files = file_system(mem)
        assert files.write(path, content).mime == mime
        files.write("/page", "<p>", mime="text/html")
        files.insert("/page", 0, "x")
        assert files.list(pattern="page").items[0].mime == "text/html"


class TestRefused:
    def test_arguments(self, mem):
        """Arguments that can't be used are refused with what to do."""
        files = file_system(mem)
        for work, error in (
            (lambda: files.write("/a", 7), InvalidInput),
            (lambda: files.write("/a", "\udc80"), InvalidInput),
            (lambda: files.write("/a", "", if_exists="skip"), InvalidInput),
            (lambda: files.list(limit=0), InvalidQuery),
            (lambda: files.list(pattern=""), InvalidQuery),
            (lambda: files.find(""), InvalidQuery),
            (lambda: file_system(mem, object()), ConfigError),
            (lambda: file_system(mem, debounce=-1), ConfigError),
            (lambda: file_system(mem, mounts=[Mount("/a"), Mount("/a")]), ConfigError),
        ):
            with pytest.raises(error):
                work()

    def test_bytes_have_no_text(self, mem):
        """A file that isn't UTF-8 can be read and kept, but not edited."""
        files = file_system(mem)
        files.write("/a", b"\xff")
        assert files.read("/a").content == b"\xff"
        with pytest.raises(InvalidInput, match="not UTF-8"):
            files.edit("/a", "a", "b")


class TestMounts:
    def test_the_most_specific_one(self, mem):
        """A file is in the store of the most specific folder that is mounted, by whole names."""
        docs, drafts = {"/docs/a": "there"}, {}
        files = file_system(mem, mounts=[Mount("/docs", callbacks(docs)), Mount("/docs/drafts", callbacks(drafts))])
        files.write("/docs/drafts/x", "1")
        files.write("/docs/b", "2")
        files.write("/docs_evil/c", "3")
        assert (docs, drafts) == ({"/docs/a": "there", "/docs/b": "2"}, {"/docs/drafts/x": "1"})
        assert [info.path for info in files.list().items] == ["/docs/a", "/docs/b", "/docs/drafts/x", "/docs_evil/c"]
        assert [info.path for info in files.list("/docs", limit=2).items] == ["/docs/a", "/docs/b"]
        assert [line.path for line in files.find("t").lines] == ["/docs/a"]

    def test_what_a_mount_hides(self, mem):
        """Files that lie under a mounted folder in another store aren't seen, page by page."""
        plain = file_system(mem)
        for path in ("/a", "/m/1", "/m/2", "/m/3", "/z"):
            plain.write(path, "ours")
        files = file_system(mem, mounts=[Mount("/m", memory=handle(mem.scoped("other")))])
        files.write("/m/2", "theirs")
        page = files.list(limit=2)
        assert [info.path for info in page.items] == ["/a", "/m/2"]
        assert [info.path for info in files.list(limit=2, cursor=page.cursor).items] == ["/z"]
        assert files.read("/m/2").text == "theirs"

    def test_read_only(self, mem):
        """A read-only mount is read, listed and searched, and never changed."""
        files = file_system(mem, mounts=[Mount("/docs", callbacks({"/docs/a": "text"}), read_only=True)])
        assert files.read("/docs/a").text == "text"
        for work in (
            lambda: files.write("/docs/b", ""),
            lambda: files.edit("/docs/a", "t", "u"),
            lambda: files.insert("/docs/a", 0, "u"),
            lambda: files.delete("/docs/a"),
            lambda: files.move("/docs/a", "/docs/b"),
            lambda: files.move("/docs/a", "/b"),
        ):
            with pytest.raises(ReadOnly):
                work()

    def test_between_stores(self, mem):
        """Nothing moves from one store to another, and no folder goes that another one is mounted in."""
        files = file_system(mem, mounts=[Mount("/a/docs", callbacks({}))])
        files.write("/a/b", "")
        for work in (
            lambda: files.move("/a/b", "/a/docs/b"),
            lambda: files.move("/a", "/c"),
            lambda: files.delete("/a", recursive=True),
        ):
            with pytest.raises(BadPath):
                work()


class TestJunk:
    def test_what_is_not_ours(self, mem, redis_url, namespace):
        """Something else under the key of a file is named, and not overwritten."""
        files = file_system(mem)
        files.write("/a", "text")
        with Redis.from_url(redis_url) as client:
            (key,) = client.scan_iter(match=f"{{{namespace}:0}}:file:*")
            client.hset(key, "size", "many")
            with pytest.raises(CorruptRecord):
                files.list()
            client.set(key, "junk")
            for work in (lambda: files.read("/a"), lambda: files.write("/a", "new")):
                with pytest.raises(CorruptRecord):
                    work()
            assert client.get(key) == b"junk"


class TestAdapters:
    @pytest.mark.parametrize(
        ("name", "needed"), [("anthropic", "anthropic.lib.tools"), ("deepagents", "deepagents.backends")]
    )
    def test_without_the_extra(self, monkeypatch, name, needed):
        """An adapter without what it adapts to says what to install."""
        monkeypatch.setitem(sys.modules, needed, None)
        monkeypatch.delitem(sys.modules, f"tiered_memory.integrations.{name}", raising=False)
        with pytest.raises(MissingExtra, match=rf"tiered-memory\[{name}\]"):
            import_module(f"tiered_memory.integrations.{name}")


class TestManyAtOnce:
    def test_processes(self, redis_url, namespace, embedder):
        """Eight processes that edit one file at once lose no line."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            mem.files.write("/log.md", "# Log\n")
            run_together("edit_one_file", 8, redis_url, namespace)
            lines = mem.files.read("/log.md").text.splitlines()
        assert sorted(lines[1:]) == sorted(f"{number}:{each}" for number in range(8) for each in range(10))

    def test_threads_over_callbacks(self, redis_url, namespace, embedder):
        """Threads that edit one file of a store over callbacks through one file system lose no line."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem, ThreadPoolExecutor(8) as pool:
            files = FileSystem(mem, callbacks({"/a": "#\n"}))
            list(pool.map(lambda number: files.insert("/a", 1, str(number)), range(24)))
            assert sorted(files.read("/a").text.split()[1:]) == sorted(map(str, range(24)))
