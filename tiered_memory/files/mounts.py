"""Which store the files of a folder are kept in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen

from tiered_memory.errors import BadPath, ConfigError, ReadOnly
from tiered_memory.files.backed import BackedFiles
from tiered_memory.files.callbacks import BoundCallbacks
from tiered_memory.files.drafts import Drafts, StartTimer
from tiered_memory.files.kept import KeptFiles
from tiered_memory.files.paths import check_folder, is_below

if TYPE_CHECKING:
    from tiered_memory.parts import AsyncParts, Parts

    Handle: TypeAlias = Parts | AsyncParts


_LONGEST = 24 * 3600
"""The longest debounce, in seconds."""


def _seconds(value: Any) -> float:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST:
        raise ConfigError(f"debounce={value!r} must be a time span or seconds, from 0 to a day")
    return float(seconds)


@frozen
class Mount:
    """A folder and where its files are kept.

    Attributes:
        folder: The folder, with all that is below; of several mounts the most specific one has a file.
        callbacks: A `FileCallbacks`, or an object that has some of its functions as methods; None: our store.
        memory: The handle whose scope our store keeps the files under; None: that of the file system.
        scope: Passed to every callback first, as it is; never stored.
        context: Passed to every callback last.
        debounce: How long a change of a file waits for the next one before `on_write`, a time span or seconds; a new
            file never waits.
        read_only: Whether changes are refused.
    """

    folder: str = field(converter=check_folder)
    callbacks: object | None = None
    memory: Handle | None = field(default=None, kw_only=True)
    scope: Any = field(default=None, kw_only=True, repr=False)
    context: Mapping[str, Any] = field(factory=dict, kw_only=True, repr=False)
    debounce: float = field(default=0.0, kw_only=True, converter=_seconds)
    read_only: bool = field(default=False, kw_only=True)


@frozen
class Mounted:
    """A folder with the store that its files are in."""

    folder: str
    files: KeptFiles | BackedFiles
    read_only: bool


class Mounts:
    """The stores of a file system, by folder."""

    def __init__(self, mounts: Iterable[Mount], handle: Handle, start_timer: StartTimer) -> None:
        made = [_mounted(mount, handle, start_timer) for mount in mounts]
        folders = [each.folder for each in made]
        twice = {folder for folder in folders if folders.count(folder) > 1}
        if twice:
            raise ConfigError(f"mounts={sorted(twice)} are given twice")
        self._mounted = sorted(made, key=lambda each: len(each.folder), reverse=True)

    def all(self) -> list[Mounted]:
        """Every one of them, the most specific first."""
        return self._mounted

    def of(self, path: str) -> Mounted:
        """The most specific one that a path belongs to."""
        return next(each for each in self._mounted if path == each.folder or is_below(path, each.folder))

    def overlapping(self, folder: str) -> list[tuple[Mounted, str]]:
        """Those that may have files below `folder`, each with the folder that both have in common."""
        own = self.of(folder)
        inside = [each for each in self._mounted if each is not own and is_below(each.folder, folder)]
        return [(own, folder), *((each, each.folder) for each in inside)]

    def to_change(self, path: str) -> Mounted:
        """The one that a path belongs to; raises `ReadOnly`, or `BadPath` when others are mounted below."""
        own = self.of(path)
        if own.read_only:
            raise ReadOnly(f"{path!r} can't be changed: the files below {own.folder!r} are read-only")
        for each in self._mounted:
            if each.folder == path or is_below(each.folder, path):
                raise BadPath(f"{path!r} can't be changed as a whole, since {each.folder!r} is mounted there")
        return own


def _mounted(mount: Mount, handle: Handle, start_timer: StartTimer) -> Mounted:
    memory = mount.memory or handle
    if memory._runner is not handle._runner:
        raise ConfigError(f"memory={memory!r} is not a handle of the same memory")
    kept = KeptFiles(memory.scope)
    if mount.callbacks is None:
        return Mounted(mount.folder, kept, mount.read_only)
    callbacks = BoundCallbacks(mount.callbacks, mount.scope, mount.context)
    return Mounted(mount.folder, BackedFiles(callbacks, kept, Drafts(start_timer), mount.debounce), mount.read_only)
