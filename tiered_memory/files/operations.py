"""What a file system can do: paths and limits are checked here, the stores do the rest."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from itertools import groupby, islice
from typing import Literal, TypeAlias

from tiered_memory import clock
from tiered_memory.checks import check_count
from tiered_memory.errors import BadPath, FileConflict, FileNotFound, InvalidInput, InvalidQuery, StoreError, TooLarge
from tiered_memory.files import text as editing
from tiered_memory.files.items import File, FileInfo, FoundLines, Line, is_text
from tiered_memory.files.kept import refused
from tiered_memory.files.mounts import Mounts
from tiered_memory.files.paths import Glob, check_folder, check_path, relative
from tiered_memory.items import Page
from tiered_memory.operation import operation
from tiered_memory.plan import Pause, Plan
from tiered_memory.scope import utf8

Pattern: TypeAlias = "str | Callable[[str], bool]"
"""A glob, or a function of a path that says whether it is wanted."""

# aliases, since in the class `list` is an operation
Files: TypeAlias = "list[File]"
Infos: TypeAlias = "list[FileInfo]"
Lines: TypeAlias = "list[Line]"
Paths: TypeAlias = "list[str]"

_ATTEMPTS = 50
"""How often an edit is tried again when others were quicker."""

_PAGE = 1000
"""How many files are listed in one step."""

_AT_ONCE = 16
"""How many files a search reads in one step."""


class FileOperations:
    """Reading, writing, editing, moving, listing and searching the files of a scope."""

    _mounts: Mounts
    _scope: str | None
    _max_bytes: int

    @operation
    def read(self, path: str) -> Plan[File]:
        """The file at `path`.

        Raises:
            BadPath: The path is relative, or has a part that could lead elsewhere.
            FileNotFound: There is none.
            StoreError: A callback failed, or Redis can't be reached.
        """
        path = check_path(path)
        return (yield from self._mounts.of(path).files.read(path))

    @operation
    def write(
        self,
        path: str,
        content: str | bytes,
        *,
        if_exists: Literal["overwrite", "error"] = "overwrite",
        if_match: str | None = None,
        mime: str | None = None,
    ) -> Plan[File]:
        """Creates or overwrites the file at `path`, byte for byte.

        Args:
            path: Where; folders need not be made.
            content: All of its content; a str is kept as UTF-8.
            if_exists: "error" to create only.
            if_match: The `sha256` of the file that was read; another one is not overwritten.
            mime: Its media type; default: what its name says.

        Raises:
            BadPath: The path is relative, or has a part that could lead elsewhere.
            TooLarge: The content is longer than the file system allows.
            FileExists: The file exists and `if_exists` is "error"; or a folder does, or a file where a folder should.
            FileConflict: The file isn't the one that was read.
            FileNotFound: There is none, and `if_match` is given.
            ReadOnly: Files there can't be changed.
            StoreError: A callback failed, or Redis can't be reached; the old content stays.
        """
        path = check_path(path)
        if if_exists not in ("overwrite", "error"):
            raise InvalidInput(f"if_exists={if_exists!r} must be 'overwrite' or 'error'")
        file = File.new(path, self._checked(path, content), mime, clock.now())
        return (yield from self._mounts.to_change(path).files.write(file, new=if_exists == "error", if_match=if_match))

    @operation
    def edit(
        self, path: str, old: str, new: str, *, replace_all: bool = False, if_match: str | None = None
    ) -> Plan[File]:
        """Replaces a text in the file at `path`; others who edit it at the same time lose nothing.

        Args:
            path: Which file.
            old: The exact text to replace, blanks included.
            new: What to put there.
            replace_all: Whether to replace every occurrence; otherwise there must be exactly one.
            if_match: The `sha256` of the file that was read; another one is not edited.

        Raises:
            NotUnique: The text occurs not at all, or more than once; `lines` says where.
            FileConflict: The file isn't the one that was read.

        And what `write` raises.
        """

        return (
            yield from self._change(
                path, lambda text: editing.replace(text, old, new, path, everywhere=replace_all), if_match
            )
        )

    @operation
    def change(self, path: str, change: Callable[[str], str], *, if_match: str | None = None) -> Plan[File]:
        """Changes the text of the file at `path` by a function, which is called again if others were quicker.

        What the function raises leaves the file as it is. Raises what `edit` raises.
        """
        return (yield from self._change(path, change, if_match))

    @operation
    def insert(self, path: str, line: int, text: str, *, if_match: str | None = None) -> Plan[File]:
        """Inserts lines into the file at `path`, after line number `line`; 0 is before the first.

        A line end is added where two lines would run into one. Raises `InvalidInput` when there is no such line,
        and what `edit` raises.
        """
        return (yield from self._change(path, lambda old: editing.insert(old, line, text, path), if_match))

    @operation
    def delete(
        self, path: str, *, recursive: bool = False, missing_ok: bool = False, if_match: str | None = None
    ) -> Plan[int]:
        """Deletes the file at `path`; returns how many files that were.

        Args:
            path: Which file, or folder.
            recursive: Whether `path` may be a folder, all of which is deleted.
            missing_ok: Whether it is no error that nothing is there.
            if_match: The `sha256` of the file that was read; another one is not deleted.

        Raises:
            FileNotFound: Nothing is there.
            FileExists: It is a folder, and `recursive` isn't said.
            FileConflict: The file isn't the one that was read.
            ReadOnly: Files there can't be changed.
        """
        path = check_path(path)
        try:
            return (yield from self._mounts.to_change(path).files.delete(path, folders=recursive, if_match=if_match))
        except FileNotFound:
            if missing_ok:
                return 0
            raise

    @operation
    def move(self, path: str, new_path: str, *, if_match: str | None = None) -> Plan[int]:
        """Moves a file, or a folder with all that is below; returns how many files moved.

        In our store all of them move at once; in one of yours the new ones are written before the old are deleted.

        Raises:
            FileNotFound: Nothing is there.
            FileExists: Something is at `new_path`; nothing moved.
            FileConflict: The file isn't the one that was read.
            ReadOnly: Files there can't be changed.
            BadPath: The paths lie in different stores, or one inside the other.
        """
        path, new_path = check_path(path), check_path(new_path)
        source, target = self._mounts.to_change(path), self._mounts.to_change(new_path)
        if source is not target:
            raise BadPath(f"{path!r} and {new_path!r} lie in different stores; write it there, then delete it here")
        return (yield from source.files.move(path, new_path, if_match=if_match))

    @operation
    def list(
        self, folder: str = "/", *, pattern: Pattern | None = None, limit: int = _PAGE, cursor: str | None = None
    ) -> Plan[Page[FileInfo]]:
        """A page of the files below a folder at any depth, in the order of their paths.

        Args:
            folder: Where to begin.
            pattern: A glob relative to the folder: `*.md` is a name in any folder, `*/*.md` and `notes/**` are whole
                paths; `*` doesn't match a name that begins with a dot. Or a function of the relative path.
            limit: How many at the most.
            cursor: The page's `cursor` to have the next one; None says that there is none.
        """
        folder, wanted = check_folder(folder), _matcher(pattern)
        check_count(limit, "limit", 1)
        after: str | None = check_path(cursor) if cursor is not None else ""
        found: Infos = []
        while after is not None and len(found) <= limit:
            infos, after = yield from self._page(folder, after, max(limit + 1, _PAGE if pattern else 1))
            found += [info for info in infos if wanted(relative(info.path, folder))]
        return Page(found[:limit], found[limit - 1].path if len(found) > limit else None)

    @operation
    def find(
        self,
        text: str,
        folder: str = "/",
        *,
        pattern: Pattern | None = None,
        ignore_case: bool = False,
        limit: int = 100,
    ) -> Plan[FoundLines]:
        """The lines that have `text` in them, in the text files below a folder.

        Args:
            text: What to look for, literally.
            folder: Where to begin.
            pattern: A glob or a function, as `list` takes it.
            ignore_case: Whether letters match whatever their case.
            limit: How many lines at the most; the search ends there.
        """
        folder, wanted = check_folder(folder), _matcher(pattern)
        check_count(limit, "limit", 1)
        if not isinstance(text, str) or not text:
            raise InvalidQuery("text must be a str that isn't empty")
        lines: Lines = []
        after: str | None = ""
        while after is not None:
            infos, after = yield from self._page(folder, after, _AT_ONCE)
            paths = [info.path for info in infos if wanted(relative(info.path, folder))]
            for file in (yield from self._read_all(paths)):
                found = editing.matching(file.text, text, ignore_case=ignore_case)
                lines += [Line(file.path, *each) for each in islice(found, limit + 1)]
            if len(lines) > limit:
                return FoundLines(lines[:limit], truncated=True)
        return FoundLines(lines, truncated=False)

    @operation
    def flush(self) -> Plan[None]:
        """Saves the changes that wait because of a `debounce`.

        Raises `StoreError`, which names those that could not be saved; they wait on.
        """
        yield from self._flush()

    @operation
    def reload(self) -> Plan[None]:
        """Drops the changes that wait, and our copies of files that `on_list` no longer has."""
        for mounted in self._mounts.all():
            yield from mounted.files.reload(mounted.folder)

    @operation
    def close(self) -> Plan[None]:
        """As `flush`; the memory stays open."""
        yield from self._flush()

    def __repr__(self) -> str:
        folders = ", ".join(sorted(each.folder for each in self._mounts.all()))
        return f"<{type(self).__name__} with files in {folders}>"

    def _change(self, path: str, change: Callable[[str], str], if_match: str | None) -> Plan[File]:
        """Reads, changes and writes the file; again, when others changed it meanwhile and no version is asked for."""
        path = check_path(path)
        files = self._mounts.to_change(path).files
        for attempt in range(1, _ATTEMPTS + 1):
            file = yield from files.read(path)
            if if_match not in (None, file.sha256):
                raise refused("changed", path)
            changed = File.new(path, self._checked(path, change(file.text)), file.mime, clock.now())
            try:
                return (yield from files.write(changed, if_match=file.sha256))
            except FileConflict:
                if if_match is not None:
                    raise
            yield Pause(random.uniform(0, 0.001 * attempt))
        raise refused("changed", path)

    def _checked(self, path: str, content: str | bytes) -> bytes:
        if not isinstance(content, str | bytes):
            raise InvalidInput(f"content must be a str or bytes, not {type(content).__name__}")
        data = utf8(content, InvalidInput, "content") if isinstance(content, str) else content
        if len(data) > self._max_bytes:
            raise TooLarge(f"{path!r} would be {len(data)} bytes long; at most {self._max_bytes} are allowed")
        return data

    def _page(self, folder: str, after: str, limit: int) -> Plan[tuple[Infos, str | None]]:
        """Files below a folder whose paths come after `after`, from all stores; and where to go on, or None.

        No further than the store that reached its limit first: what comes after that, others may come before.
        """
        found: Infos = []
        ends: Paths = []
        for mounted, start in self._mounts.overlapping(folder):
            infos = yield from mounted.files.page(start, after, limit)
            found += [info for info in infos if self._mounts.of(info.path) is mounted]
            ends += [infos[-1].path] if len(infos) == limit else []
        end = min(ends, default=None)
        listed = sorted((info for info in found if end is None or info.path <= end), key=lambda info: info.path)
        return listed, end

    def _read_all(self, paths: Iterable[str]) -> Plan[Files]:
        """Those of the files that are text."""
        found: Files = []
        for mounted, group in groupby(paths, self._mounts.of):
            files = yield from mounted.files.read_all(list(group))
            found += [file for file in files if file is not None and is_text(file.content)]
        return found

    def _flush(self) -> Plan[None]:
        failed: dict[str, Exception] = {}
        for mounted in self._mounts.all():
            failed.update((yield from mounted.files.flush()))
        if failed:
            first = next(iter(failed.values()))
            raise StoreError(f"not saved, and still waiting: {', '.join(sorted(failed))} ({first})") from first


def _matcher(pattern: Pattern | None) -> Callable[[str], bool]:
    if pattern is None:
        return lambda _: True
    return pattern if callable(pattern) else Glob(pattern).matches
