"""Files that are kept in a store of the user's, through callbacks, with a copy of each in ours."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from attrs import frozen

from tiered_memory import clock
from tiered_memory.errors import FileNotFound, ReadOnly, TieredMemoryError
from tiered_memory.files.callbacks import BoundCallbacks
from tiered_memory.files.drafts import Drafts
from tiered_memory.files.items import File, FileInfo
from tiered_memory.files.kept import KeptFiles, refused
from tiered_memory.files.paths import MAX_PATH_BYTES, is_below
from tiered_memory.plan import Plan

_EVERYTHING = 2**31


@frozen
class BackedFiles:
    """The user's store, which is asked first and told first; our copy follows it."""

    callbacks: BoundCallbacks
    kept: KeptFiles
    drafts: Drafts
    debounce: float
    """How many seconds a change of a file waits for the next one."""

    def read(self, path: str) -> Plan[File]:
        """The draft, else what `on_read` has, else (without `on_read`) our copy; raises `FileNotFound`."""
        draft = self.drafts.get(path)
        if draft is not None:
            return draft
        if not self.callbacks.has("on_read"):
            return (yield from self.kept.read(path))
        content = yield from self.callbacks.read(path)
        return (yield from self._copy(path, content))

    def read_all(self, paths: Sequence[str]) -> Plan[list[File | None]]:
        """The files, one by one; None for each that isn't there."""
        files: list[File | None] = []
        for path in paths:
            files += [(yield from self._standing(path))]
        return files

    def write(self, file: File, *, new: bool = False, if_match: str | None = None) -> Plan[File]:
        """Hands `file` over, at once if there was none; our copy follows when that went well."""
        self._require("on_write")
        return (yield from self.drafts.alone(file.path, self._write(file, new, if_match)))

    def delete(self, path: str, *, folders: bool = False, if_match: str | None = None) -> Plan[int]:
        """Deletes a file, or, if `folders`, all that is below; how many files went. Raises `FileNotFound`."""
        self._require("on_delete")
        standing = yield from self._standing(path)
        inside = [] if standing else (yield from self.page(path, "", _EVERYTHING))
        if inside and not folders:
            raise refused("folder", path)
        if if_match and (inside or (standing and standing.sha256 != if_match)):
            raise refused("changed", path)
        if not inside:
            yield from self.drafts.alone(path, self._delete(path, known=standing is not None))
        for info in inside:
            with suppress(FileNotFound):
                yield from self.drafts.alone(info.path, self._delete(info.path))
        return len(inside) or 1

    def move(self, path: str, new_path: str, *, if_match: str | None = None) -> Plan[int]:
        """Writes a file, or all that is below a folder, anew and deletes the old ones last; how many files moved."""
        self._require("on_write")
        self._require("on_delete")
        standing = yield from self._standing(path)
        files = [standing] if standing else (yield from self._below(path))
        if not files:
            raise refused("missing", path)
        if if_match and (standing is None or standing.sha256 != if_match):
            raise refused("changed", path)
        if path == new_path:
            return 0
        yield from self._check_free(path, new_path)
        targets = [new_path + file.path[len(path) :] for file in files]
        if any(len(target.encode()) > MAX_PATH_BYTES for target in targets):
            raise refused("long", path, new_path)
        for file, target in zip(files, targets, strict=True):
            yield from self.drafts.alone(target, self._save(file.at(target)))
        for file in files:
            yield from self.drafts.alone(file.path, self._delete(file.path))
        return len(files)

    def page(self, folder: str, after: str, limit: int) -> Plan[list[FileInfo]]:
        """The union of our copies and of what `on_list` has, each path once; as `KeptFiles.page`."""
        known = yield from self.kept.page(folder, after, limit)
        found = {info.path: info for info in known}
        for path in (yield from self.callbacks.paths()):
            if is_below(path, folder) and path > after:
                found.setdefault(path, FileInfo(path))
        drafts = {path: draft.info for path in found if (draft := self.drafts.get(path))}
        return [drafts.get(path, found[path]) for path in sorted(found)[:limit]]

    def flush(self) -> Plan[dict[str, TieredMemoryError]]:
        """Saves all drafts; the paths of those that could not be saved, which stay drafts, and why."""
        failed = {}
        for path in self.drafts.paths():
            try:
                yield from self.save(path)
            except TieredMemoryError as error:
                failed[path] = error
        return failed

    def reload(self, folder: str) -> Plan[None]:
        """Drops drafts, and copies of files that `on_list` no longer has."""
        for path in self.drafts.paths():
            self.drafts.drop(path)
        if not self.callbacks.has("on_list"):
            return
        there = set((yield from self.callbacks.paths()))
        for info in (yield from self.kept.page(folder, "", _EVERYTHING)):
            if info.path not in there:
                yield from self._forget(info.path)

    def save(self, path: str) -> Plan[None]:
        """Saves the draft of that path, if there is one."""
        yield from self.drafts.alone(path, self._save_draft(path))

    def _require(self, name: str) -> None:
        """What is read from the user's store is changed there, or not at all."""
        if self.callbacks.has("on_read") and not self.callbacks.has(name):
            raise ReadOnly(f"there is on_read, but no {name}: the files can be read, and not changed so")

    def _copy(self, path: str, content: bytes) -> Plan[File]:
        """What the user's store gave, with our copy brought in step."""
        file = File.new(path, content, None, clock.now())
        info = yield from self.kept.info(path)
        if info and info.sha256 == file.sha256:
            return file.unchanged(info)
        return (yield from self.kept.write(file, tree=False))

    def _standing(self, path: str) -> Plan[File | None]:
        try:
            return (yield from self.read(path))
        except FileNotFound:
            return None

    def _below(self, folder: str) -> Plan[list[File]]:
        infos = yield from self.page(folder, "", _EVERYTHING)
        files = yield from self.read_all([info.path for info in infos])
        return [file for file in files if file is not None]

    def _write(self, file: File, new: bool, if_match: str | None) -> Plan[File]:
        if new or if_match:
            standing = yield from self._standing(file.path)
            if standing and new:
                raise refused("exists", file.path)
            if if_match and (standing is None or standing.sha256 != if_match):
                raise refused("changed" if standing else "missing", file.path)
        known = (yield from self.kept.info(file.path)) if self._waits else None
        if known is None:
            return (yield from self._save(file))
        draft = file.since(known.created_at)
        self.drafts.put(draft, self.debounce, lambda: self._save_quietly(file.path))
        return draft

    @property
    def _waits(self) -> bool:
        return self.debounce > 0 and self.callbacks.has("on_write")

    def _save(self, file: File) -> Plan[File]:
        if self.callbacks.has("on_write"):
            yield from self.callbacks.write(file.path, file.content)
        self.drafts.drop(file.path)
        return (yield from self.kept.write(file, tree=False))

    def _save_draft(self, path: str) -> Plan[None]:
        draft = self.drafts.get(path)
        if draft is not None:
            yield from self._save(draft)

    def _save_quietly(self, path: str) -> Plan[None]:
        """What a timer does: a draft that could not be saved stays one, which `flush` tries again and tells."""
        with suppress(TieredMemoryError):
            yield from self.save(path)

    def _delete(self, path: str, *, known: bool = True) -> Plan[None]:
        """Deletes one file there, then here; one that isn't `known` may be there only if `on_read` can't tell."""
        asks = self.callbacks.has("on_delete") and (known or not self.callbacks.has("on_read"))
        missing = None if known or asks else refused("missing", path)
        try:
            if asks:
                yield from self.callbacks.delete(path)
        except FileNotFound as error:
            missing = error
        yield from self._forget(path)
        if missing:
            raise missing

    def _forget(self, path: str) -> Plan[None]:
        self.drafts.drop(path)
        with suppress(FileNotFound):
            yield from self.kept.delete(path)

    def _check_free(self, path: str, new_path: str) -> Plan[None]:
        if is_below(new_path, path):
            raise refused("inside", path, new_path)
        standing = yield from self._standing(new_path)
        if standing or (yield from self.page(new_path, "", 1)):
            raise refused("exists", path, new_path)
