"""The embedded Redis: a private server for a data folder, shared by all who hold it, stopped by the last.

Two lock files in the folder carry its life cycle; the kernel frees a lock when its owner ends, killed or not:

- `holders.lock` is shared by every `EmbeddedRedis`. The supervisor waits to have it alone, which means that
  nobody holds the folder any more, and stops the server.
- `server.lock` belongs to the supervisor and the server together. Only who gets it may start another server.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from tiered_memory.engine import launch
from tiered_memory.engine.binaries import find_binaries
from tiered_memory.engine.filelock import FileLock
from tiered_memory.errors import ConfigError, MissingExtra, StoreUnavailable

TEMPORARY = ":temp:"
"""Stands for a new data folder that is deleted at the end."""

_LONGEST_SOCKET_PATH = 100  # bytes; Linux takes 107, macOS 103
_POLL_SECONDS = 0.01
_STOP_SECONDS = 15.0


class EmbeddedRedis:
    """One hold on the private Redis of a data folder; `open` makes it.

    Any number of processes and threads may hold a folder. They share its server, which listens on a Unix
    socket only, and stops when the last hold is closed, collected, or gone with its process. A forked child
    shares its parent's hold. A server that ends while it is held, by a kill or a crash, starts again.

    A write that was acknowledged is on the disk; in a `":temp:"` folder it only outlives the server's death.
    """

    data_dir: Path
    """The folder of the data, the locks and the server's log."""
    socket: Path
    """The Unix socket to connect to."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self._hold = FileLock(data_dir / "holders.lock")
        self._others = FileLock(data_dir / "holders.lock")
        self._server = FileLock(data_dir / launch.SERVER_LOCK)
        self.socket, link = _socket_path(data_dir)
        locks = [self._hold, self._others, self._server]
        self._finalizer = weakref.finalize(self, _release, locks, link, os.getpid())

    @classmethod
    def open(cls, data_dir: str | Path | None = None, *, start_timeout: float = 20.0) -> EmbeddedRedis:
        """Hold the server of `data_dir`, which is started unless it runs; returns when it answers.

        A missing folder is made, for this user only. None is the user's data folder; `":temp:"` is a new one
        that is deleted at the end. `start_timeout` is in seconds, and includes loading the data.

        Raises `MissingExtra` when the server isn't installed, `StoreUnsupported` when this platform has none,
        `ConfigError` when `data_dir` is empty text, and `StoreUnavailable` when the folder can't be used or the
        server doesn't start in time.
        """
        temporary = str(data_dir) == TEMPORARY
        command = launch.server_command(find_binaries(), durable=not temporary)
        with _system_errors():
            hold = cls(_make_folder(data_dir))
            try:
                hold._join(command, temporary, time.monotonic() + start_timeout)
            except BaseException:
                hold._abandon(temporary)
                raise
        return hold

    def close(self) -> None:
        """Leave; the last one to leave waits until the server has stopped. Closing again does nothing."""
        finalizer = self._finalizer.detach()
        if finalizer is not None:
            _, release, arguments, _ = finalizer
            self._hold.close()
            self._wait_for_end(time.monotonic() + _STOP_SECONDS)
            release(*arguments)

    def _join(self, command: list[str], temporary: bool, deadline: float) -> None:
        """Take the hold, then wait for the server, which is started once if none runs."""
        while not self._hold.take(shared=True):  # the last holder left, the server is being stopped
            self._pause(deadline)
        started = False
        while not launch.answers(self.socket):
            if started and self._server.is_free():
                raise StoreUnavailable(f"the embedded Redis ended at its start:\n{launch.log_tail(self.data_dir)}")
            started = started or launch.start(self.data_dir, command, delete=temporary)
            self._pause(deadline)

    def _pause(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                f"the embedded Redis in {self.data_dir} didn't answer in time; pass a longer start_timeout "
                f"if it has much to load. The end of its log:\n{launch.log_tail(self.data_dir)}"
            )
        time.sleep(_POLL_SECONDS)

    def _abandon(self, temporary: bool) -> None:
        self._finalizer()
        if temporary:
            shutil.rmtree(self.data_dir, ignore_errors=True)

    def _wait_for_end(self, deadline: float) -> None:
        while not self._server.is_free() and not self._is_held() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)

    def _is_held(self) -> bool:
        """Whether others hold the folder: its lock can be shared, but not had alone."""
        return not self._others.is_free() and self._others.is_free(shared=True)

    def __enter__(self) -> EmbeddedRedis:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<EmbeddedRedis {str(self.data_dir)!r} {'open' if self._finalizer.alive else 'closed'}>"


def _release(locks: list[FileLock], link: Path | None, owner: int) -> None:
    for lock in locks:
        lock.close()
    if link is not None and owner == os.getpid():  # not a forked child, whose parent still uses the link
        shutil.rmtree(link, ignore_errors=True)


def _make_folder(data_dir: str | Path | None) -> Path:
    if str(data_dir) == TEMPORARY:
        return Path(tempfile.mkdtemp(prefix="tiered-memory-"))
    if data_dir == "":
        raise ConfigError("data_dir='' is no folder; pass a path, or None for the user's data folder")
    folder = _user_folder() if data_dir is None else Path(data_dir).expanduser().absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _user_folder() -> Path:
    try:
        from platformdirs import user_data_path
    except ImportError as error:
        raise MissingExtra("the embedded Redis", "embedded") from error
    return user_data_path("tiered-memory")


def _socket_path(folder: Path) -> tuple[Path, Path | None]:
    """The socket in `folder`, and the folder of a link to it that is needed where its path is too long."""
    path = folder / launch.SOCKET
    if len(os.fsencode(path)) <= _LONGEST_SOCKET_PATH:
        return path, None
    short = Path(tempfile.mkdtemp(prefix="tiered-memory-"))
    (short / "data").symlink_to(folder)
    return short / "data" / launch.SOCKET, short


@contextlib.contextmanager
def _system_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"the embedded Redis can't be opened: {error}; it needs a data folder that this user may write to"
        ) from error
