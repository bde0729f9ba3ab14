"""Changing and searching the text of a file: pure functions; lines end with LF, and a CR before it stays."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from tiered_memory.errors import InvalidInput, NotUnique


def replace(text: str, old: str, new: str, path: str, *, everywhere: bool) -> str:
    """`text` with `new` for `old`, which must occur exactly once, or at least once if `everywhere`.

    Raises `NotUnique` with the lines in which `old` begins.
    """
    if not isinstance(old, str) or not isinstance(new, str) or not old:
        raise InvalidInput("old and new must be texts, and old not empty; give the text to replace")
    lines = lines_with(text, old)
    if not lines:
        raise NotUnique(f"the text to replace does not occur in {path}; it must match exactly, blanks included")
    if text.find(old) != text.rfind(old) and not everywhere:
        places = ", ".join(map(str, lines))
        raise NotUnique(f"the text to replace occurs several times in {path}, in lines {places}; give more", lines)
    return text.replace(old, new)


def insert(text: str, line: int, added: str, path: str) -> str:
    """`text` with the lines of `added` after line number `line`; 0 is before the first.

    A line end is put where two lines would run into one. Raises `InvalidInput` when there is no such line.
    """
    lines = split_lines(text)
    if not isinstance(added, str):
        raise InvalidInput(f"text must be a str, not {type(added).__name__}")
    if not isinstance(line, int) or isinstance(line, bool) or not 0 <= line <= len(lines):
        raise InvalidInput(f"line={line!r} must be a whole number from 0 to {len(lines)}, the lines of {path}")
    before, after = "".join(lines[:line]), "".join(lines[line:])
    if before and not before.endswith("\n"):
        before += "\n"
    if added and after and not added.endswith("\n"):
        added += "\n"
    return before + added + after


def split_lines(text: str) -> list[str]:
    """The lines of `text`, each with its end; the last may have none."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def lines_with(text: str, wanted: str) -> list[int]:
    """The numbers of the lines, from 1, in which an occurrence of `wanted` begins, each once."""
    ends = [place for place, character in enumerate(text) if character == "\n"]
    return list(dict.fromkeys(1 + bisect_left(ends, place) for place in _places(text, wanted)))


def matching(text: str, wanted: str, *, ignore_case: bool) -> Iterator[tuple[int, str]]:
    """The number, from 1, and the text of each line that has `wanted` in it."""
    sought = wanted.casefold() if ignore_case else wanted
    for number, line in enumerate(split_lines(text), 1):
        if sought in (line.casefold() if ignore_case else line):
            yield number, line.rstrip("\r\n")


def _places(text: str, wanted: str) -> Iterator[int]:
    place = text.find(wanted)
    while place >= 0:
        yield place
        place = text.find(wanted, place + len(wanted))
