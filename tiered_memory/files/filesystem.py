"""The file system of a scope, blocking and async."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tiered_memory.files.drafts import Timer
from tiered_memory.files.items import MAX_BYTES, FileInfo
from tiered_memory.files.mounts import Mount, Mounts
from tiered_memory.files.operations import FileOperations, Pattern
from tiered_memory.operation import Blocking, NonBlocking, Planned
from tiered_memory.plan import Plan

if TYPE_CHECKING:
    from tiered_memory.parts import AsyncParts, Parts


class FileSystem(FileOperations, Blocking):
    """The files of a memory's scope; with callbacks they are kept in a store of yours, and copies of them in ours.

    Args:
        memory: The handle whose scope the files belong to.
        callbacks: A `FileCallbacks`, or an object that has some of its functions as methods; None: our store.
        mounts: Folders whose files are kept elsewhere.
        max_bytes: How large a file may be.
        settings: What else a `Mount` takes, for all that isn't mounted: `scope`, `context`, `debounce`, `read_only`.

    Use it in a `with` block, or `close` it, if changes wait because of a `debounce`.

    Raises:
        ConfigError: A mount can't be used.
    """

    def __init__(
        self,
        memory: Parts,
        callbacks: object | None = None,
        *,
        mounts: Iterable[Mount] = (),
        max_bytes: int = MAX_BYTES,
        **settings: Any,
    ) -> None:
        self._runner, self._scope, self._max_bytes = (memory._runner, memory.scope, max_bytes)
        self._mounts = Mounts([Mount("/", callbacks, **settings), *mounts], memory, self._start_timer)

    def _start_timer(self, seconds: float, save: Callable[[], Plan[None]]) -> Timer:
        timer = threading.Timer(seconds, lambda: self._runner.run(save()))
        timer.daemon = True
        timer.start()
        return timer

    def __enter__(self) -> FileSystem:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncFileSystem(FileOperations, NonBlocking):
    """As `FileSystem`, with operations that are awaited, in an `async with` block; callbacks may be async too."""

    def __init__(
        self,
        memory: AsyncParts,
        callbacks: object | None = None,
        *,
        mounts: Iterable[Mount] = (),
        max_bytes: int = MAX_BYTES,
        **settings: Any,
    ) -> None:
        self._runner, self._scope, self._max_bytes = (memory._runner, memory.scope, max_bytes)
        self._mounts = Mounts([Mount("/", callbacks, **settings), *mounts], memory, self._start_timer)
        self._tasks: set[asyncio.Task[None]] = set()

    def _start_timer(self, seconds: float, save: Callable[[], Plan[None]]) -> Timer:
        return asyncio.get_running_loop().call_later(seconds, self._begin, save)

    def _begin(self, save: Callable[[], Plan[None]]) -> None:
        task = asyncio.get_running_loop().create_task(self._runner.run(save()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def __aenter__(self) -> AsyncFileSystem:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()


class FilePlans(FileOperations, Planned):
    """The operations of a file system as plans, for adapters that make several of them into one."""

    def __init__(self, files: FileSystem | AsyncFileSystem) -> None:
        self._mounts, self._scope, self._max_bytes = (files._mounts, files._scope, files._max_bytes)


def everything(files: FilePlans, folder: str, pattern: Pattern | None = None) -> Plan[list[FileInfo]]:
    """All files below a folder, page by page."""
    page = yield from files.list(folder, pattern=pattern)
    found = [*page.items]
    while page.cursor is not None:
        page = yield from files.list(folder, pattern=pattern, cursor=page.cursor)
        found += page.items
    return found
