"""Anthropic's memory tool over the files of a scope; needs the `anthropic` extra."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

from tiered_memory.errors import BadPath, FileExists, FileNotFound, MissingExtra, NotUnique, TieredMemoryError
from tiered_memory.files import AsyncFileSystem, File, FileSystem
from tiered_memory.files.filesystem import FilePlans, everything
from tiered_memory.files.paths import check_path, children, is_below
from tiered_memory.files.text import lines_with, split_lines
from tiered_memory.plan import Plan

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError:
    raise MissingExtra("Anthropic's memory tool", "anthropic") from None

ROOT = "/memories"
"""The folder that the tool can reach."""

_MOST_LINES = 999_999
_HIDDEN = "excluding hidden items and node_modules"
_SNIPPET = "Here is the snippet showing the change (with line numbers):"


class MemoryTool(BetaAbstractMemoryTool):
    """The tool `memory_20250818`, for `client.beta.messages.run_tools(tools=[MemoryTool(files)], ...)`.

    Args:
        files: The file system of one scope, e.g. `mem.scoped("user:42").files`; only what is below `/memories` of it
            is reached.
        options: What the client's own tool takes, such as `cache_control`.
    """

    def __init__(self, files: FileSystem, **options: Any) -> None:
        super().__init__(**options)
        self._files, self._commands = files, _Commands(files)

    def call(self, input: object) -> str:
        """Executes one command of the model; raises `ToolError` with what to tell it."""
        return self._files._runner.run(self._commands.execute(input))

    def execute(self, command: Any) -> str:
        """As `call`, for a command that the client has parsed."""
        return self.call(command.to_dict())

    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        """Deletes everything below `/memories`."""
        return self._files._runner.run(self._commands.clear())


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """As `MemoryTool`, for the async client and an `AsyncFileSystem`."""

    def __init__(self, files: AsyncFileSystem, **options: Any) -> None:
        super().__init__(**options)
        self._files, self._commands = files, _Commands(files)

    async def call(self, input: object) -> str:
        """Executes one command of the model; raises `ToolError` with what to tell it."""
        return await self._files._runner.run(self._commands.execute(input))

    async def execute(self, command: Any) -> str:
        """As `call`, for a command that the client has parsed."""
        return await self.call(command.to_dict())

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        """Deletes everything below `/memories`."""
        return await self._files._runner.run(self._commands.clear())


class _Commands:
    """The tool's commands, whose parameters and replies are those that Anthropic documents."""

    def __init__(self, files: FileSystem | AsyncFileSystem) -> None:
        self._files = FilePlans(files)
        self._by_name: dict[str, Callable[..., Plan[str]]] = {
            "view": self._view,
            "create": self._create,
            "str_replace": self._str_replace,
            "insert": self._insert,
            "delete": self._delete,
            "rename": self._rename,
        }

    def execute(self, command: object) -> Plan[str]:
        """The reply to a command."""
        given = dict(command) if isinstance(command, Mapping) else {}
        work = self._by_name.get(str(given.pop("command", None)))
        if work is None:
            raise ToolError(f"Unknown command; there are: {', '.join(self._by_name)}")
        try:
            bound = signature(work).bind(**given)
        except TypeError as error:
            raise ToolError(f"The command can't be used: {error}") from None
        try:
            return (yield from work(*bound.args, **bound.kwargs))
        except TieredMemoryError as error:
            raise ToolError(str(error)) from error

    def clear(self) -> Plan[str]:
        """Deletes everything."""
        yield from self._files.delete(ROOT, recursive=True, missing_ok=True)
        return "All memory cleared"

    def _view(self, path: str, view_range: list[int] | None = None) -> Plan[str]:
        path = _checked(path.rstrip("/") if isinstance(path, str) else path)
        try:
            file = yield from self._files.read(path)
        except FileNotFound:
            return (yield from self._view_folder(path))
        lines = [line.rstrip("\n") for line in split_lines(file.text)]
        if len(lines) > _MOST_LINES:
            raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = _range(view_range, len(lines))
        return f"Here's the content of {path} with line numbers:\n{_numbered(lines, first, last)}"

    def _view_folder(self, path: str) -> Plan[str]:
        infos = yield from everything(self._files, path)
        if not infos and path != ROOT:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {info.path: info.size or 0 for info in infos}
        listed = [f"{_size(sum(sizes.values()))}\t{path}", *_listed(sizes, path, levels=2)]
        return "\n".join([f"Here're the files and directories up to 2 levels deep in {path}, {_HIDDEN}:", *listed])

    def _create(self, path: str, file_text: str) -> Plan[str]:
        path = _checked_file(path)
        try:
            yield from self._files.write(path, file_text, if_exists="error")
        except FileExists as error:
            if (yield from self._standing(path)) is None:
                raise
            raise ToolError(f"File {path} already exists") from error
        return f"File created successfully at: {path}"

    def _str_replace(self, path: str, old_str: str, new_str: str = "") -> Plan[str]:
        path = _checked_file(path)
        before = yield from self._standing(path)
        if before is None:
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        try:
            after = yield from self._files.edit(path, old_str, new_str)
        except NotUnique as error:
            raise ToolError(_not_replaced(path, old_str, error)) from error
        place = min(lines_with(before.text, old_str), default=1)
        lines = [line.rstrip("\n") for line in split_lines(after.text)]
        snippet = _numbered(lines, max(1, place - 2), min(len(lines), place + 2))
        return (
            f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{snippet}"
        )

    def _insert(self, path: str, insert_line: int, insert_text: str) -> Plan[str]:
        path = _checked_file(path)
        before = yield from self._standing(path)
        if before is None:
            raise ToolError(f"The path {path} does not exist")
        last = len(split_lines(before.text))
        if not isinstance(insert_line, int) or not 0 <= insert_line <= last:
            raise ToolError(
                f"Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range of lines of the file: [0, {last}]"
            )
        yield from self._files.insert(path, insert_line, insert_text)
        return f"The file {path} has been edited."

    def _delete(self, path: str) -> Plan[str]:
        path = _checked(path)
        if path == ROOT:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        try:
            yield from self._files.delete(path, recursive=True)
        except FileNotFound as error:
            raise ToolError(f"The path {path} does not exist") from error
        return f"Successfully deleted {path}"

    def _rename(self, old_path: str, new_path: str) -> Plan[str]:
        old_path, new_path = _checked(old_path), _checked(new_path)
        if old_path == ROOT:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        try:
            yield from self._files.move(old_path, new_path)
        except FileNotFound as error:
            raise ToolError(f"The path {old_path} does not exist") from error
        except FileExists as error:
            raise ToolError(f"The destination {new_path} already exists") from error
        return f"Successfully renamed {old_path} to {new_path}"

    def _standing(self, path: str) -> Plan[File | None]:
        try:
            return (yield from self._files.read(path))
        except FileNotFound:
            return None


def _checked(path: object) -> str:
    """A path that is `/memories`, or below it by whole names."""
    checked = check_path(path)
    if checked != ROOT and not is_below(checked, ROOT):
        raise BadPath(f"Path must start with {ROOT}, got: {checked}")
    return checked


def _checked_file(path: object) -> str:
    checked = _checked(path)
    if checked == ROOT:
        raise BadPath(f"The path {ROOT} is a directory")
    return checked


def _range(view_range: list[int] | None, last: int) -> tuple[int, int]:
    """The first and last line to show; -1 stands for the end, and a line beyond it does too."""
    if view_range is None:
        return 1, last
    if isinstance(view_range, list) and len(view_range) == 2 and all(isinstance(each, int) for each in view_range):
        first, end = view_range[0], last if view_range[1] == -1 else view_range[1]
        if 1 <= first <= max(1, last) and (first <= end or last == 0):
            return first, min(end, last)
    raise ToolError(
        f"Invalid `view_range` parameter: {view_range}. It should be [first, last] within the range of lines of the "
        f"file: [1, {last}], where last may be -1 for the end"
    )


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, last + 1))


def _not_replaced(path: str, old_str: str, error: NotUnique) -> str:
    if not error.lines:
        return f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}."
    lines = ", ".join(map(str, error.lines))
    return (
        f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: {lines}. "
        "Please ensure it is unique"
    )


def _listed(sizes: Mapping[str, int], folder: str, levels: int) -> list[str]:
    """A line for each file and folder, folders before what is in them; a folder's size is that of its files."""
    lines: list[str] = []
    for name, paths in sorted(children(sizes, folder).items()):
        if name.startswith(".") or name == "node_modules":
            continue
        path = f"{folder}/{name}"
        inside = {each: sizes[each] for each in paths if each != path}
        lines.append(f"{_size(sum(sizes[each] for each in paths))}\t{path}{'/' if inside else ''}")
        if levels > 1:
            lines += _listed(inside, path, levels - 1)
    return lines


def _size(size: float) -> str:
    """A size in bytes as people read it: `0B`, `1.5K`, `3M`."""
    for unit in "BKMG":
        if size < 1024 or unit == "G":
            break
        size /= 1024
    return f"{size:.1f}".removesuffix(".0") + unit
