"""Files that are kept in our store: every change is one script, which compares and writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import BadPath, CorruptRecord, FileConflict, FileExists, FileNotFound, TieredMemoryError
from tiered_memory.files.items import File, FileInfo
from tiered_memory.files.paths import MAX_PATH_BYTES
from tiered_memory.plan import Command, Plan, ask, opened

_FIELDS = ("content", "sha256", "size", "mime", "created_at", "modified_at")


@frozen
class KeptFiles:
    """The files that one scope has in our store."""

    scope: str | None

    def read(self, path: str) -> Plan[File]:
        """The file; raises `FileNotFound`."""
        (file,) = yield from self.read_all([path])
        if file is None:
            raise refused("missing", path)
        return file

    def read_all(self, paths: Sequence[str]) -> Plan[list[File | None]]:
        """The files, in one round trip; None for each that isn't there."""
        keys = yield from self._keys()
        commands: list[Command] = [("HMGET", keys.file(path), *_FIELDS) for path in paths]
        replies = yield from ask(*commands)
        return [_file(path, fields) for path, fields in zip(paths, replies, strict=True)]

    def info(self, path: str) -> Plan[FileInfo | None]:
        """What is known of the file, or None."""
        keys = yield from self._keys()
        (fields,) = yield from ask(("HMGET", keys.file(path), *_FIELDS[1:]))
        return None if fields[0] is None else _info(path, fields)

    def write(self, file: File, *, new: bool = False, if_match: str | None = None, tree: bool = True) -> Plan[File]:
        """Keeps `file`, under the time at which its path was first kept.

        Args:
            file: What to keep.
            new: Whether nothing may stand there.
            if_match: The SHA-256 of what must stand there.
            tree: Whether to refuse a file where a folder is, or below a file.
        """
        keys = yield from self._keys()
        moment = clock.to_micros(file.modified_at)
        fields = ("sha256", file.sha256, "size", file.size, "mime", file.mime, "content", file.content)
        rules = (if_match or "", "new" if new else "", "tree" if tree else "")
        arguments = (moment, keys.member, keys.token("files"), file.path, *rules, *fields)
        repeatable = not (new or if_match)
        (reply,) = yield from ask(call("files_write", keys.scopes, arguments), repeatable=repeatable)
        _check(reply, b"written", file.path)
        return file.since(_moment(reply[1]))

    def delete(self, path: str, *, folders: bool = False, if_match: str | None = None) -> Plan[int]:
        """Deletes a file, or, if `folders`, all that is below; how many files went. Raises `FileNotFound`."""
        keys = yield from self._keys()
        rules = (if_match or "", "all" if folders else "")
        arguments = (keys.member, keys.token("files"), path, *rules)
        (reply,) = yield from ask(call("files_delete", keys.scopes, arguments), repeatable=False)
        _check(reply, b"deleted", path)
        return int(reply[1])

    def move(self, path: str, new_path: str, *, if_match: str | None = None) -> Plan[int]:
        """Moves a file, or a folder with all that is below, at once; how many files moved."""
        keys = yield from self._keys()
        arguments = (keys.token("files"), path, new_path, if_match or "", MAX_PATH_BYTES)
        (reply,) = yield from ask(call("files_move", keys.scopes, arguments), repeatable=False)
        _check(reply, b"moved", path, new_path)
        return int(reply[1])

    def page(self, folder: str, after: str, limit: int) -> Plan[list[FileInfo]]:
        """Up to `limit` files that are below `folder` and whose paths come after `after`, in the order of paths."""
        keys = yield from self._keys()
        start = folder.rstrip("/")
        first = f"({after}" if after > f"{start}/" else f"[{start}/"
        arguments = (keys.token("files"), first, f"({start}0", limit)
        (rows,) = yield from ask(call("files_list", keys.scopes, arguments))
        return [_info(text(path), fields) for path, fields in rows if fields[0] is not None]

    def flush(self) -> Plan[dict[str, TieredMemoryError]]:
        """Nothing waits here."""
        yield from ()
        return {}

    def reload(self, folder: str) -> Plan[None]:
        """Nothing is held back here."""
        del folder
        yield from ()

    def _keys(self) -> Plan[ScopeKeys]:
        return (yield from opened()).of(self.scope)


def _file(path: str, fields: Sequence[Any]) -> File | None:
    content, sha256, _, mime, created_at, modified_at = fields
    if content is None:
        return None
    return File(
        path=path,
        content=content,
        sha256=text(sha256),
        mime=text(mime),
        created_at=_moment(created_at),
        modified_at=_moment(modified_at),
    )


def _info(path: str, fields: Sequence[Any]) -> FileInfo:
    sha256, size, mime, created_at, modified_at = fields
    return FileInfo(path, _whole(size), text(sha256), text(mime), _moment(created_at), _moment(modified_at))


def _moment(micros: Any) -> datetime:
    return clock.from_micros(_whole(micros))


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise CorruptRecord("a file's record isn't as we wrote it") from None


def refused(outcome: str, path: str, new_path: str = "", above: str = "") -> TieredMemoryError:
    """The error for what the scripts, or a store of the user's, say about a path."""
    kind, words = {
        "missing": (FileNotFound, f"there is no file {path!r}"),
        "folder": (FileExists, f"{path!r} is a folder, not a file"),
        "changed": (FileConflict, f"{path!r} isn't what was read; read it again, then decide"),
        "exists": (FileExists, f"{(new_path or path)!r} exists already"),
        "below": (FileExists, f"{above!r} is a file, so that nothing can be below it"),
        "inside": (BadPath, f"{path!r} can't be moved into itself, to {new_path!r}"),
        "long": (BadPath, f"under {new_path!r} a path would be longer than {MAX_PATH_BYTES} bytes"),
    }[outcome]
    return kind(words)


def _check(reply: Sequence[Any], wanted: bytes, path: str, new_path: str = "") -> None:
    if reply[0] != wanted:
        outcome, *details = reply
        above = text(details[0]) if outcome == b"below" else ""
        raise refused(text(outcome), path, new_path, above)
