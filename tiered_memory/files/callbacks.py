"""The four callbacks by which files are kept in a store of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from inspect import isawaitable, iscoroutine
from typing import Any

from attrs import field, frozen

from tiered_memory.errors import BadPath, ConfigError, FileNotFound, StoreError
from tiered_memory.files.kept import refused
from tiered_memory.files.paths import check_path
from tiered_memory.plan import Plan, call

NAMES = ("on_write", "on_read", "on_delete", "on_list")

Callback = Callable[..., Any]


@frozen(kw_only=True)
class FileCallbacks:
    """Functions that keep files in a store of your own; each may be left out, may block, or may be async.

    An object of yours that has some of these as methods serves as well. A callback that fails raises what it
    likes; `FileNotFound`, or Python's `FileNotFoundError`, says that there is no such file. Async functions need an
    `AsyncFileSystem`, which runs those that block in a thread.

    Attributes:
        on_write: `(scope, path, content, context)`: keeps the full content of a new or changed file. `content` is a
            str, or bytes if it isn't UTF-8. What it returns is ignored.
        on_read: `(scope, path, context)`: the content, str or bytes; None for no such file. It is asked at each
            read, before the copy that is kept here.
        on_delete: `(scope, path, context)`: deletes a file.
        on_list: `(scope, context)`: the paths of all files. Without it only files that were written or read here
            are listed.
    """

    on_write: Callback | None = None
    on_read: Callback | None = None
    on_delete: Callback | None = None
    on_list: Callback | None = None


@frozen
class BoundCallbacks:
    """Callbacks with what is passed to each of them; their failures are ours."""

    callbacks: object
    scope: Any = field(repr=False)
    context: Mapping[str, Any] = field(repr=False)

    def __attrs_post_init__(self) -> None:
        if not any(hasattr(self.callbacks, name) for name in NAMES):
            raise ConfigError(
                f"{type(self.callbacks).__name__} has none of {', '.join(NAMES)}; pass a FileCallbacks, or an object "
                "that has some of them"
            )

    def has(self, name: str) -> bool:
        """Whether there is a callback of that name."""
        return getattr(self.callbacks, name, None) is not None

    def write(self, path: str, content: bytes) -> Plan[None]:
        """Hands a file over to `on_write`."""
        yield from self._call("on_write", path, _given(content))

    def read(self, path: str) -> Plan[bytes]:
        """What `on_read` has for a path; raises `FileNotFound`."""
        content = yield from self._call("on_read", path)
        if content is None:
            raise refused("missing", path)
        if isinstance(content, str):
            try:
                return content.encode()
            except UnicodeEncodeError:
                raise StoreError(f"on_read gave text with a lone surrogate for {path!r}") from None
        if not isinstance(content, bytes):
            raise StoreError(f"on_read gave {type(content).__name__} for {path!r}; it must give str, bytes or None")
        return content

    def delete(self, path: str) -> Plan[None]:
        """Deletes a file by `on_delete`; raises `FileNotFound`."""
        yield from self._call("on_delete", path)

    def paths(self) -> Plan[list[str]]:
        """The paths that `on_list` has; none without it."""
        if not self.has("on_list"):
            return []
        paths = yield from self._call("on_list")
        if not isinstance(paths, Iterable) or isinstance(paths, str | bytes):
            raise StoreError(f"on_list gave {type(paths).__name__}; it must give the paths of all files")
        try:
            return [check_path(path) for path in paths]
        except BadPath as bad:
            raise StoreError(f"on_list gave a path that can't be used: {bad}") from None
        except Exception as error:
            raise StoreError(f"on_list failed: {type(error).__name__}") from error

    def _call(self, name: str, *arguments: Any) -> Plan[Any]:
        try:
            result = yield from call(getattr(self.callbacks, name), self.scope, *arguments, self.context)
        except Exception as error:
            if isinstance(error, FileNotFound | FileNotFoundError) and name in ("on_read", "on_delete"):
                raise refused("missing", arguments[0]) from error
            about = f" for {arguments[0]!r}" if arguments else ""
            raise StoreError(f"{name} failed{about}: {type(error).__name__}") from error
        if isawaitable(result):
            if iscoroutine(result):
                result.close()
            raise ConfigError(f"{name} is async; it needs an AsyncFileSystem")
        return result


def _given(content: bytes) -> str | bytes:
    """What a callback is given: text if it is text."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
