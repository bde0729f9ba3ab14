"""A backend for deepagents over the files of a scope; needs the `deepagents` extra."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tiered_memory.errors import BadPath, FileNotFound, InvalidInput, MissingExtra, ReadOnly, TieredMemoryError
from tiered_memory.files import File, FileSystem
from tiered_memory.files.items import FileInfo as Info
from tiered_memory.files.items import is_text
from tiered_memory.files.paths import children
from tiered_memory.files.text import matching

try:
    from deepagents.backends import protocol
    from deepagents.backends.protocol import (
        BackendProtocol,
        DeleteResult,
        EditResult,
        FileData,
        FileDownloadResponse,
        FileInfo,
        FileUploadResponse,
        GlobResult,
        GrepMatch,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.utils import compile_grep_include_glob, perform_string_replacement, slice_read_response
except ImportError:
    raise MissingExtra("The deepagents backend", "deepagents") from None

R = TypeVar("R")

_MOST_BYTES = 500 * 1024
"""How large a file may be that isn't text, to be read by an agent."""

_ALL = 2**31


class FilesBackend(BackendProtocol):
    """A backend whose files are those of one scope, e.g. `FilesBackend(mem.scoped("user:42").files)`.

    Mount it where an agent keeps what outlives a conversation: `CompositeBackend(default=StateBackend(),
    routes={"/memories/": FilesBackend(files)})`. Failures are in the results' `error`, as deepagents wants it; the
    async methods run the blocking ones in a thread.
    """

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def ls(self, path: str) -> LsResult:
        """The files and folders that stand directly in a folder; a folder's path ends with a slash."""
        return _told(LsResult, lambda: LsResult(entries=self._entries(_folder(path))))

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        """The lines of a text from `offset`, 0 being the first; all of a file that isn't text, as base64."""

        def work() -> ReadResult:
            file = self._files.read(file_path)
            if is_text(file.content):
                return _window(slice_read_response(_data(file, file.text, "utf-8"), offset, limit))
            if file.size > _MOST_BYTES:
                raise InvalidInput(
                    f"File '{file_path}': Binary file exceeds maximum preview size of {_MOST_BYTES} bytes"
                )
            return ReadResult(file_data=_data(file, base64.b64encode(file.content).decode(), "base64"))

        return _told(ReadResult, work, file_path)

    def write(self, file_path: str, content: str) -> WriteResult:
        """Creates or overwrites a file."""
        return _told(WriteResult, lambda: WriteResult(path=self._files.write(file_path, content).path), file_path)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        """Replaces the one occurrence of a text, or all of them."""
        count = 0

        def change(text: str) -> str:
            nonlocal count
            if old_string and text.count(old_string) > 1 and not replace_all:
                raise InvalidInput("Error: multiple occurrences of old_string; give more of its surroundings")
            replaced = perform_string_replacement(text, old_string, new_string, replace_all)
            if isinstance(replaced, str):
                raise InvalidInput(replaced)
            text, count = replaced
            return text

        def work() -> EditResult:
            path = self._files.change(file_path, change).path
            return EditResult(path=path, occurrences=count)

        return _told(EditResult, work, file_path)

    def delete(self, file_path: str) -> DeleteResult:
        """Deletes a file, or a folder with all that is below."""

        def work() -> DeleteResult:
            self._files.delete(_folder(file_path), recursive=True)
            return DeleteResult(path=file_path)

        return _told(DeleteResult, work, file_path)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        """The lines that have a text in them, literally; in a folder, or in the one file that `path` names."""

        def work() -> GrepResult:
            folder, wanted = _folder(path or "/"), _wanted(glob)
            found = self._files.find(pattern, folder, pattern=wanted, limit=_ALL if max_count is None else max_count)
            matches = [_match(line.path, line.number, line.text) for line in found.lines]
            if not matches and folder != "/":
                matches = self._grep_file(pattern, folder, wanted)
            return GrepResult(matches=matches[:max_count], truncated=found.truncated or matches[:max_count] != matches)

        return _told(GrepResult, work, path or "/")

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        """The files whose path relative to a folder, or whose name, is like a pattern."""

        def work() -> GlobResult:
            infos = self._infos(_folder(path or "/"), _wanted(pattern))
            return GlobResult(matches=[_info(info) for info in infos])

        return _told(GlobResult, work, path or "/")

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        """Writes files, each for itself; a response for each, in their order."""
        return [self._upload(path, content) for path, content in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        """Reads files, each for itself; a response for each, in their order."""
        return [self._download(path) for path in paths]

    def _upload(self, path: str, content: bytes) -> FileUploadResponse:
        try:
            self._files.write(path, content)
        except TieredMemoryError as error:
            return FileUploadResponse(path=path, error=_code(error))
        return FileUploadResponse(path=path)

    def _download(self, path: str) -> FileDownloadResponse:
        try:
            return FileDownloadResponse(path=path, content=self._files.read(path).content)
        except FileNotFound as error:
            is_folder = bool(self._files.list(path, limit=1).items)
            code = protocol.IS_DIRECTORY if is_folder else _code(error)
        except TieredMemoryError as error:
            code = _code(error)
        return FileDownloadResponse(path=path, error=code)

    def _entries(self, folder: str) -> list[FileInfo]:
        infos = {info.path: info for info in self._infos(folder)}
        entries: list[FileInfo] = []
        for name, paths in sorted(children(infos, folder).items()):
            path = f"{folder.rstrip('/')}/{name}"
            if path in infos:
                entries.append(_info(infos[path]))
            if paths != [path]:
                entries.append(cast("FileInfo", {"path": f"{path}/", "is_dir": True, "size": 0}))
        return entries

    def _infos(self, folder: str, wanted: Callable[[str], bool] | None = None) -> list[Info]:
        return self._files.list(folder, pattern=wanted, limit=_ALL).items

    def _grep_file(self, pattern: str, path: str, wanted: Callable[[str], bool] | None) -> list[GrepMatch]:
        try:
            file = self._files.read(path)
        except FileNotFound:
            return []
        if not is_text(file.content) or (wanted and not wanted(path.rpartition("/")[2])):
            return []
        lines = matching(file.text, pattern, ignore_case=False)
        return [_match(path, number, text) for number, text in lines]


def _folder(path: str) -> str:
    """The path of a folder, which deepagents may end with a slash."""
    return path.rstrip("/") or "/" if isinstance(path, str) and path.startswith("/") else path


def _wanted(glob: str | None) -> Callable[[str], bool] | None:
    if glob is None:
        return None
    try:
        wanted: Callable[[str], bool] = compile_grep_include_glob(glob)
    except ValueError as error:
        raise InvalidInput(str(error)) from None
    return wanted


def _told(result: Callable[..., R], work: Callable[[], R], path: str = "") -> R:
    """What `work` gives; a failure of ours as the `error` of a result."""
    try:
        return work()
    except FileNotFound:
        return result(error=f"Error: File '{path}' not found")
    except TieredMemoryError as error:
        return result(error=str(error))


def _window(read: ReadResult) -> ReadResult:
    """Lines of a file, without the line end that another window follows."""
    if read.file_data is not None and read.next_offset is not None:
        read.file_data["content"] = read.file_data["content"].removesuffix("\n")
    return read


def _code(error: TieredMemoryError) -> str:
    """A failure in the words that deepagents has for it."""
    codes: dict[type[TieredMemoryError], str] = {
        BadPath: protocol.INVALID_PATH,
        FileNotFound: protocol.FILE_NOT_FOUND,
        ReadOnly: protocol.PERMISSION_DENIED,
    }
    return codes.get(type(error), str(error))


def _data(file: File, content: str, encoding: str) -> FileData:
    created_at, modified_at = file.created_at.isoformat(), file.modified_at.isoformat()
    return FileData(content=content, encoding=encoding, created_at=created_at, modified_at=modified_at)


def _match(path: str, number: int, text: str) -> GrepMatch:
    return cast("GrepMatch", {"path": path, "line": number, "text": text})


def _info(info: Info) -> FileInfo:
    found: dict[str, Any] = {"path": info.path, "is_dir": False}
    if info.size is not None and info.modified_at is not None:
        found |= {"size": info.size, "modified_at": info.modified_at.isoformat()}
    return cast("FileInfo", found)
