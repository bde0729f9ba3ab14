"""What a file's path may be, and globs over paths."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from unicodedata import normalize
from urllib.parse import unquote

from tiered_memory.errors import BadPath, InvalidQuery
from tiered_memory.scope import utf8

MAX_PATH_BYTES = 1024
"""The longest path, in bytes of UTF-8."""


def check_path(path: object) -> str:
    """`path` in Unicode's composed form (NFC), if it names one file and can lead nowhere else; else `BadPath`."""
    if not isinstance(path, str):
        raise BadPath(f"a path must be a str, not {type(path).__name__}")
    size = len(utf8(path, BadPath, "a path"))
    if size > 3 * MAX_PATH_BYTES:
        raise BadPath(f"a path is {size} bytes long; at most {MAX_PATH_BYTES} are allowed")
    composed = normalize("NFC", path)
    reason = _wrong(composed) or _wrong_once_decoded(unquote(composed, errors="replace"))
    if reason:
        raise BadPath(f"path={composed!r} {reason}; a path is like '/notes/today.md'")
    return composed


def check_folder(path: object) -> str:
    """As `check_path`; `/` is the folder of everything."""
    return "/" if path == "/" else check_path(path)


def is_below(path: str, folder: str) -> bool:
    """Whether `path` lies in `folder` at any depth, by whole segments."""
    return folder == "/" or path.startswith(f"{folder}/")


def relative(path: str, folder: str) -> str:
    """`path` without the `folder` that it is below."""
    return path[1 if folder == "/" else len(folder) + 1 :]


def children(paths: Iterable[str], folder: str) -> dict[str, list[str]]:
    """The paths below `folder` by the name of the file or folder that stands in it directly."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(relative(path, folder).partition("/")[0], []).append(path)
    return found


class Glob:
    """A pattern of paths, relative to a folder.

    `*`, `?` and `[abc]` stand for characters of one name, `**` for any number of folders. A pattern without a slash
    is one of names, in any folder. A name that begins with a dot is matched only by a pattern that does.
    """

    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str) or not pattern.strip("/"):
            raise InvalidQuery(f"pattern={pattern!r} is not a glob such as '*.md' or 'notes/**'")
        parts = [part for part in pattern.split("/") if part]
        self._names_only = "/" not in pattern
        self._parts = [*parts, "*"] if parts[-1] == "**" else parts

    def matches(self, path: str) -> bool:
        """Whether this relative path is one of them."""
        names = path.split("/")
        return _match(self._parts, names[-1:] if self._names_only else names)


def _wrong(path: str) -> str | None:
    if not path.startswith("/"):
        return "is not absolute"
    if len(path.encode()) > MAX_PATH_BYTES:
        return f"is longer than {MAX_PATH_BYTES} bytes"
    if "" in path[1:].split("/"):
        return "has an empty name"
    return _wrong_once_decoded(path)


def _wrong_once_decoded(path: str) -> str | None:
    if "\0" in path or "\\" in path:
        return "has a NUL or a backslash"
    if not {".", ".."}.isdisjoint(path.split("/")):
        return "has '.' or '..' as a name"
    return None


def _match(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Matches part by part; `reached` are the numbers of names that the pattern so far can stand for."""
    reached = {0}
    for part in pattern:
        if part == "**":
            reached = _spread(reached, names)
        else:
            reached = {at + 1 for at in reached if at < len(names) and _is_like(names[at], part)}
    return len(names) in reached


def _spread(reached: set[int], names: Sequence[str]) -> set[int]:
    """Where any number of names that aren't hidden, none included, leads to."""
    spread = set(reached)
    for at, name in enumerate(names):
        if at in spread and not name.startswith("."):
            spread.add(at + 1)
    return spread


def _is_like(name: str, pattern: str) -> bool:
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))
