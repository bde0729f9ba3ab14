"""Skills from a folder or a tar archive, read as a whole, and refused as a whole if anything about them is unsafe."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from attrs import Factory, define

from tiered_memory.errors import InvalidSkill, TieredMemoryError, TooLarge
from tiered_memory.store.skill_files import ENTRY, check_clashes, check_name, check_path

MAX_ENTRIES = 500
"""The most files and folders that one import has."""

MAX_BYTES = 5_000_000
"""The most bytes that their contents have together, once they are unpacked."""

_BLOCK = tarfile.BLOCKSIZE

_MOST_UNPACKED = MAX_BYTES + MAX_ENTRIES * 8 * _BLOCK + tarfile.RECORDSIZE
"""The most bytes of an archive that keeps to these limits, with its headers."""

_SUFFIXES = (".tar.gz", ".tgz", ".tar")

Skills = dict[str, dict[str, str]]
"""Texts by their paths, by the names of skills."""


@define
class _Contents:
    """What was read so far, within the limits.

    Attributes:
        texts: The texts of files, by their paths.
        folders: The paths of folders.
        size: How many bytes the files have.
    """

    texts: dict[str, str] = Factory(dict)
    folders: set[str] = Factory(set)
    size: int = 0

    def add_folder(self, path: str) -> None:
        """Takes note of a folder."""
        self._check(path)
        self.folders.add(path)

    def add_file(self, path: str, data: bytes) -> None:
        """Takes a file's content."""
        self._check(path)
        self.size += len(data)
        if self.size > MAX_BYTES:
            raise TooLarge(f"the files have more than {MAX_BYTES} bytes, unpacked; import fewer skills at once")
        try:
            self.texts[path] = data.decode()
        except UnicodeDecodeError as error:
            raise InvalidSkill(f"{path!r} isn't UTF-8 (at byte {error.start}); a skill's files are texts") from None

    @property
    def room(self) -> int:
        """How many bytes there may be yet."""
        return MAX_BYTES - self.size

    def _check(self, path: str) -> None:
        check_path(path)
        if path in self.texts or path in self.folders:
            raise InvalidSkill(f"{path!r} is there twice")
        if len(self.texts) + len(self.folders) == MAX_ENTRIES:
            raise TooLarge(f"there are more than {MAX_ENTRIES} files and folders; import fewer skills at once")


def read_skills(source: str | os.PathLike[str]) -> Skills:
    """The skills in a folder, or in a tar archive that may be compressed by gzip.

    Either holds one skill, its `SKILL.md` at the top, or a folder for each of several, which one more folder may wrap.

    Raises:
        InvalidSkill: There is no `SKILL.md`, a file beside the skills, a link, a duplicate, a clash, a file that isn't
            UTF-8, or no archive; or the source can't be read.
        BadPath: A path is absolute, leads elsewhere, or may mean something else.
        TooLarge: There are more than `MAX_ENTRIES` files and folders, or `MAX_BYTES`.
    """
    contents = _Contents()
    try:
        path = Path(source)
        if path.is_dir():
            name = path.resolve().name
            _read_folder(contents, path)
        else:
            name = _without_suffix(path.name)
            _read_archive(contents, _unpacked(path))
    except TieredMemoryError:
        raise
    except (OSError, EOFError, zlib.error, tarfile.TarError, ValueError, OverflowError) as error:
        raise InvalidSkill(f"{os.fspath(source)!r} can't be read as a folder, or a tar archive ({error})") from None
    check_clashes(contents.texts, contents.folders)
    return _by_name(contents.texts, name)


def _read_folder(contents: _Contents, top: Path) -> None:
    for path, entry in _walk(top, ""):
        if entry.is_symlink():
            raise InvalidSkill(f"{path!r} is a link; a skill's files must be files of its own")
        if entry.is_dir(follow_symlinks=False):
            contents.add_folder(path)
        elif entry.is_file(follow_symlinks=False):
            with open(entry.path, "rb") as file:
                contents.add_file(path, file.read(contents.room + 1))
        else:
            raise InvalidSkill(f"{path!r} is neither a file nor a folder")


def _walk(folder: Path, path: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All that lies in a folder, with its path, each folder before what is in it."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        own = f"{path}{entry.name}"
        yield own, entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{own}/")


def _unpacked(path: Path) -> bytes:
    """The bytes of an archive, without its compression."""
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        data = (gzip.GzipFile(fileobj=file) if packed else file).read(_MOST_UNPACKED + 1)
    if len(data) > _MOST_UNPACKED:
        raise TooLarge(f"the archive has more than {_MOST_UNPACKED} bytes, unpacked; import fewer skills at once")
    return data


def _read_archive(contents: _Contents, data: bytes) -> None:
    end = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8", errors="surrogateescape") as archive:
        for member in archive:
            end = member.offset_data + (0 if member.isdir() else -(-member.size // _BLOCK) * _BLOCK)
            _read_member(contents, archive, member)
    # the module takes a broken header for the end
    if data[end : end + _BLOCK] != bytes(_BLOCK):
        raise tarfile.ReadError("it is cut short, or damaged")


def _read_member(contents: _Contents, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    path = member.name.removeprefix("./")
    if member.isdir():
        if path not in (".", ""):
            contents.add_folder(path)
        return
    if not member.isfile() or member.issparse():
        raise InvalidSkill(f"{path!r} is a link, or no plain file; a skill's files must be files of its own")
    file = archive.extractfile(member)
    data = file.read() if file else b""
    if len(data) != member.size:
        raise tarfile.ReadError("it is cut short")
    contents.add_file(path, data)


def _without_suffix(name: str) -> str:
    return next((name.removesuffix(suffix) for suffix in _SUFFIXES if name.endswith(suffix)), name)


def _by_name(texts: dict[str, str], name: str) -> Skills:
    """The texts by the skills that they belong to; `name` is that of a skill which stands at the top."""
    if ENTRY in texts:
        return {check_name(name): texts}
    skills = _by_folder(texts)
    if len(skills) == 1:
        (inner,) = skills.values()
        skills = skills if ENTRY in inner else _by_folder(inner)
    for each, files in skills.items():
        if ENTRY not in files:
            raise InvalidSkill(f"folder {each!r} has no {ENTRY}, so that it isn't a skill")
    return skills


def _by_folder(texts: dict[str, str]) -> Skills:
    found: Skills = {}
    for path, text in texts.items():
        folder, slash, rest = path.partition("/")
        if not slash:
            raise InvalidSkill(f"{path!r} belongs to no skill: there is no {ENTRY} beside it")
        found.setdefault(folder, {})[rest] = text
    if not found:
        raise InvalidSkill(f"there are no files, and so no {ENTRY}")
    return found
