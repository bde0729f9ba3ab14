"""Files over callbacks: who is asked first, what failures leave behind, and changes that wait."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from test_files import file_system, handle

from tiered_memory import Memory, async_memory, memory
from tiered_memory.errors import (
    ConfigError,
    FileConflict,
    FileNotFound,
    ReadOnly,
    StoreError,
    TooLarge,
)
from tiered_memory.files import AsyncFileSystem, FileCallbacks, FileSystem


class Shelf:
    """The four callbacks as methods, over a dictionary; they log their calls, and fail on demand."""

    def __init__(self, **files: Any) -> None:
        self.files: dict[str, Any] = {f"/{name}": content for name, content in files.items()}
        self.calls: list[tuple[Any, ...]] = []
        self.failing: set[str] = set()

    def on_write(self, scope, path, content, context):
        self._called("on_write", scope, path, content, context)
        self.files[path] = content
        return {"id": 7}

    def on_read(self, scope, path, context):
        self._called("on_read", scope, path, context)
        if path not in self.files:
            raise FileNotFoundError(path)
        return self.files[path]

    def on_delete(self, scope, path, context):
        self._called("on_delete", scope, path, context)
        if self.files.pop(path, None) is None:
            raise FileNotFound("no such row")

    def on_list(self, scope, context):
        self._called("on_list", scope, context)
        return list(self.files)

    def written(self):
        return [call[3] for call in self.calls if call[0] == "on_write"]

    def _called(self, name, *arguments):
        self.calls.append((name, *arguments))
        if name in self.failing:
            raise OSError("disk full")


@pytest.fixture
def shelf():
    """A store of the user's, with one file."""
    return Shelf(a="theirs")


def only(shelf: Shelf, *names: str) -> FileCallbacks:
    """Some of the shelf's callbacks."""
    return FileCallbacks(**{name: getattr(shelf, name) for name in names})


def wait(mem: Any, seconds: float) -> None:
    """Lets timers run."""
    if isinstance(handle(mem), Memory):
        time.sleep(seconds)
    else:
        mem._loop.run_until_complete(asyncio.sleep(seconds))


class TestReading:
    def test_asked_each_time(self, mem, shelf):
        """A store that can be read is asked at each read, before the copy that is kept."""
        files = file_system(mem, only(shelf, "on_read"))
        assert files.read("/a").text == "theirs"
        shelf.files["/a"] = "changed"
        assert files.read("/a").text == "changed"
        assert [call[0] for call in shelf.calls] == ["on_read", "on_read"]

    def test_a_copy_is_kept(self, mem, shelf):
        """What was read is kept, under the time at which it was first read, and listed."""
        files = file_system(mem, only(shelf, "on_read"))
        first = files.read("/a")
        assert files.read("/a") == first
        assert files.list().items == [first.info]
        assert file_system(mem).read("/a") == first

    def test_the_truth_is_there(self, mem, shelf):
        """A file that the store doesn't have any more isn't found, whatever copy is kept."""
        files = file_system(mem, shelf)
        files.read("/a")
        del shelf.files["/a"]
        with pytest.raises(FileNotFound):
            files.read("/a")

    def test_none_is_no_file(self, mem):
        """`on_read` may give None for a file that it doesn't have."""
        with pytest.raises(FileNotFound):
            file_system(mem, FileCallbacks(on_read=lambda *_: None)).read("/a")

    def test_failing(self, mem, shelf):
        """Another failure of `on_read` is a store error that names it, and leaves the copy as it is."""
        files = file_system(mem, shelf)
        files.read("/a")
        shelf.failing.add("on_read")
        with pytest.raises(StoreError, match="on_read failed for '/a': OSError") as failed:
            files.read("/a")
        assert "disk full" not in str(failed.value)
        assert file_system(mem).read("/a").text == "theirs"

    @pytest.mark.parametrize("given", [7, "\udc80"])
    def test_what_is_no_content(self, mem, given):
        """What is neither text nor bytes is refused, and named."""
        with pytest.raises(StoreError, match="on_read gave"):
            file_system(mem, FileCallbacks(on_read=lambda *_: given)).read("/a")


class TestWriting:
    def test_failing(self, mem, shelf):
        """A write that the store fails to take raises, and the old content stays."""
        files = file_system(mem, shelf)
        shelf.failing.add("on_write")
        for work in (lambda: files.write("/a", "new"), lambda: files.edit("/a", "theirs", "new")):
            with pytest.raises(StoreError, match="on_write failed for '/a'"):
                work()
        assert files.read("/a").text == "theirs"

    def test_failing_with_nothing_to_read(self, mem, shelf):
        """Nor is anything kept of it when the store can't be read."""
        files = file_system(mem, only(shelf, "on_write"))
        files.write("/b", "old")
        shelf.failing.add("on_write")
        with pytest.raises(StoreError):
            files.write("/b", "new")
        assert files.read("/b").text == "old"

    def test_a_missing_folder(self, mem):
        """That something is not found is no excuse for a write."""

        def on_write(scope, path, content, context):
            raise FileNotFoundError

        with pytest.raises(StoreError, match="on_write failed for '/a'"):
            file_system(mem, FileCallbacks(on_write=on_write)).write("/a", "")

    def test_too_large(self, mem, shelf):
        """A file that is too large never reaches the callback."""
        files = file_system(mem, shelf, max_bytes=3)
        with pytest.raises(TooLarge, match="4 bytes long; at most 3"):
            files.write("/a", "1234")
        assert shelf.calls == []

    def test_text_and_bytes(self, mem, shelf):
        """A callback is given text, or bytes where it isn't text."""
        files = file_system(mem, shelf)
        files.write("/a", b"text")
        files.write("/a", b"\xff")
        assert shelf.written() == ["text", b"\xff"]

    def test_what_can_only_be_read(self, mem, shelf):
        """A store that can be read, but not written, is read-only."""
        files = file_system(mem, only(shelf, "on_read"))
        for work in (lambda: files.write("/a", ""), lambda: files.delete("/a"), lambda: files.move("/a", "/b")):
            with pytest.raises(ReadOnly):
                work()

    def test_compared_with_the_truth(self, mem, shelf):
        """A version is compared with what the store has now, not with the copy."""
        files = file_system(mem, shelf)
        seen = files.read("/a").sha256
        shelf.files["/a"] = "changed behind our back"
        with pytest.raises(FileConflict):
            files.write("/a", "new", if_match=seen)


class TestDeleting:
    def test_absent(self, mem, shelf):
        """A file that the store doesn't have can't be deleted, unless that is no matter."""
        for callbacks in (shelf, only(shelf, "on_delete")):
            files = file_system(mem, callbacks)
            with pytest.raises(FileNotFound):
                files.delete("/b")
            assert files.delete("/b", missing_ok=True) == 0

    def test_failing(self, mem, shelf):
        """A deletion that fails leaves the file."""
        files = file_system(mem, shelf)
        shelf.failing.add("on_delete")
        with pytest.raises(StoreError, match="on_delete failed for '/a'"):
            files.delete("/a")
        assert files.read("/a").text == "theirs"

    def test_without_on_delete(self, mem, shelf):
        """A store that is only told of writes isn't told of deletions."""
        files = file_system(mem, only(shelf, "on_write"))
        files.write("/b", "")
        assert files.delete("/b") == 1
        assert files.list().items == []


class TestListing:
    def test_the_union(self, mem, shelf):
        """A listing is the union of what is kept and what the store lists, each path once."""
        file_system(mem).write("/kept", "")
        files = file_system(mem, shelf)
        assert [(info.path, info.size) for info in files.list().items] == [("/a", None), ("/kept", 0)]
        files.read("/a")
        assert [(info.path, info.size) for info in files.list().items] == [("/a", 6), ("/kept", 0)]

    def test_without_on_list(self, mem, shelf):
        """Without `on_list` only files that were written or read here are listed."""
        files = file_system(mem, only(shelf, "on_read", "on_write"))
        files.write("/b", "")
        assert [info.path for info in files.list().items] == ["/b"]

    def test_searching(self, mem, shelf):
        """A search reads what the store lists."""
        assert [line.path for line in file_system(mem, shelf).find("theirs").lines] == ["/a"]

    @pytest.mark.parametrize("paths", [["../a"], "text", 7, [b"/a"]])
    def test_what_is_no_listing(self, mem, paths):
        """A listing that has something else than usable paths is refused."""
        with pytest.raises(StoreError, match="on_list gave"):
            file_system(mem, FileCallbacks(on_list=lambda *_: paths)).list()

    @pytest.mark.parametrize("lazily", [False, True])
    def test_failing(self, mem, lazily):
        """A failing `on_list` is named, even if it says that something is not found."""

        def paths():
            yield "/a"
            raise FileNotFoundError

        callbacks = FileCallbacks(on_list=lambda scope, context: paths() if lazily else list(paths()))
        with pytest.raises(StoreError, match="on_list failed: FileNotFoundError"):
            file_system(mem, callbacks).list()


class TestWhatIsPassed:
    def test_scope_and_context(self, mem, shelf):
        """Every callback gets the scope's object itself first, and the context last."""
        scope, context = object(), {"session": 7}
        files = file_system(mem, shelf, scope=scope, context=context)
        files.write("/b", "x")
        files.read("/b")
        files.list()
        files.delete("/b")
        assert {call[0] for call in shelf.calls} == {"on_write", "on_read", "on_list", "on_delete"}
        assert all(call[1] is scope and call[-1] is context for call in shelf.calls)

    def test_never_shown(self, mem, shelf):
        """Neither is shown by a file system."""
        files = file_system(mem, shelf, scope="secret", context={"key": "secret"})
        assert "secret" not in repr(getattr(files, "_handle", files))


class TestWaiting:
    def test_a_burst(self, mem, shelf):
        """A new file is saved at once, and of several changes in a row only the last, once they have ended."""
        files = file_system(mem, shelf, debounce=0.3)
        files.write("/new", "0")
        assert shelf.written() == ["0"]
        for each in "123":
            files.write("/new", each)
        assert shelf.written() == ["0"]
        assert files.read("/new").text == "3"
        assert [info.size for info in files.list(pattern="new").items] == [1]
        wait(mem, 0.6)
        assert shelf.written() == ["0", "3"]
        assert file_system(mem).read("/new").text == "3"

    def test_each_change_begins_the_wait_anew(self, mem, shelf):
        """The wait begins anew with each change."""
        files = file_system(mem, shelf, debounce=0.4)
        files.write("/new", "0")
        for each in "12":
            files.edit("/new", "0" if each == "1" else "1", each)
            wait(mem, 0.2)
        assert shelf.written() == ["0"]
        files.flush()

    def test_flush(self, mem, shelf):
        """`flush` saves at once what waits; and then nothing waits."""
        files = file_system(mem, shelf, debounce=60)
        files.write("/new", "0")
        files.write("/new", "1")
        files.flush()
        files.flush()
        assert shelf.written() == ["0", "1"]

    def test_close_that_fails(self, mem, shelf):
        """Closing saves what waits; what can't be saved is named, and waits on."""
        files = file_system(mem, shelf, debounce=60)
        for path in ("/x", "/y"):
            files.write(path, "0")
            files.write(path, "1")
        shelf.failing.add("on_write")
        with pytest.raises(StoreError, match=r"/x, /y.*on_write failed"):
            files.close()
        assert files.read("/x").text == "1"
        shelf.failing.clear()
        files.close()
        assert (shelf.files["/x"], shelf.files["/y"]) == ("1", "1")

    def test_a_save_that_fails_by_itself(self, mem, shelf):
        """What couldn't be saved after the wait stays, and `flush` tells."""
        files = file_system(mem, shelf, debounce=0.05)
        files.write("/new", "0")
        shelf.failing.add("on_write")
        files.write("/new", "1")
        wait(mem, 0.3)
        assert files.read("/new").text == "1"
        with pytest.raises(StoreError, match="/new"):
            files.flush()
        shelf.failing.clear()
        files.flush()

    def test_deleted_meanwhile(self, mem, shelf):
        """A file that is deleted isn't saved afterwards."""
        files = file_system(mem, shelf, debounce=0.1)
        files.write("/new", "0")
        files.write("/new", "1")
        files.delete("/new")
        wait(mem, 0.3)
        assert "/new" not in shelf.files

    def test_moved_meanwhile(self, mem, shelf):
        """A file that moves takes along the change that waits."""
        files = file_system(mem, shelf, debounce=60)
        files.write("/new", "0")
        files.write("/new", "1")
        files.move("/new", "/newer")
        assert (shelf.files.get("/newer"), "/new" in shelf.files) == ("1", False)
        files.flush()
        assert "/new" not in shelf.files

    def test_reload(self, mem, shelf):
        """`reload` drops what waits, and copies of files that the store no longer lists."""
        files = file_system(mem, shelf, debounce=60)
        files.read("/a")
        files.write("/new", "0")
        files.write("/new", "1")
        del shelf.files["/a"]
        files.reload()
        assert files.read("/new").text == "0"
        assert [info.path for info in files.list().items] == ["/new"]


class TestModes:
    async def test_async_functions(self, redis_url, namespace, embedder):
        """An async file system awaits callbacks that are async."""
        kept = {}

        async def on_write(scope, path, content, context):
            await asyncio.sleep(0)
            kept[path] = content

        async def on_read(scope, path, context):
            return kept.get(path)

        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            async with AsyncFileSystem(mem, FileCallbacks(on_write=on_write, on_read=on_read), debounce=60) as files:
                await files.write("/a", "1")
                await files.edit("/a", "1", "2")
                with pytest.raises(FileNotFound):
                    await files.read("/b")
            assert kept == {"/a": "2"}

    async def test_blocking_functions_dont_block(self, redis_url, namespace, embedder):
        """An async file system runs callbacks that block in a thread, side by side."""
        both = threading.Barrier(2)

        def on_read(scope, path, context):
            both.wait(10)
            return path

        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            files = AsyncFileSystem(mem, FileCallbacks(on_read=on_read))
            read = await asyncio.gather(files.read("/a"), files.read("/b"))
        assert [file.text for file in read] == ["/a", "/b"]

    def test_async_functions_in_a_blocking_file_system(self, redis_url, namespace, embedder):
        """A blocking file system refuses callbacks that are async."""

        async def on_read(scope, path, context):
            return ""

        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            files = FileSystem(mem, FileCallbacks(on_read=on_read))
            with pytest.raises(ConfigError, match="on_read is async"):
                files.read("/a")

    async def test_cancelled(self, redis_url, namespace, embedder):
        """A write that is cancelled while its callback runs holds up no later one."""
        entered = asyncio.Event()

        async def on_write(scope, path, content, context):
            if content == "first":
                entered.set()
                await asyncio.sleep(60)

        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            files = AsyncFileSystem(mem, FileCallbacks(on_write=on_write))
            first = asyncio.create_task(files.write("/a", "first"))
            await entered.wait()
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            await asyncio.wait_for(files.write("/a", "second"), 10)
            assert (await files.read("/a")).text == "second"
