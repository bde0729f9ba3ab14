"""Where an archive is written to and read from: paths, binary files, and anything that gives lines."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import TextIOBase
from pathlib import Path
from typing import IO, TypeAlias, cast

from tiered_memory.archive.lines import as_lines
from tiered_memory.errors import InvalidInput, StoreError

Target: TypeAlias = "str | os.PathLike[str] | IO[bytes]"
"""A path, which is replaced once all is written, or a file that is open for writing bytes."""

Source: TypeAlias = "str | os.PathLike[str] | IO[bytes] | Iterable[str | bytes]"
"""A path, a file that is open for reading bytes, or lines."""

_BATCH_LINES, _BATCH_BYTES = 100, 4 * 1024 * 1024


class Output:
    """Where lines are written to; a path has all of them in the end, or is as it was."""

    def __init__(self, target: Target) -> None:
        with _named_errors("written"):
            if isinstance(target, str | os.PathLike):
                self._path: Path | None = Path(target)
                # made beside it, so that putting it in place is one step
                handle, self._part = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
                self._file: IO[bytes] = os.fdopen(handle, "wb")
            elif hasattr(target, "write") and not isinstance(target, TextIOBase):
                self._path, self._part, self._file = None, "", target
            else:
                raise InvalidInput(f"an archive goes to a path or a binary file, not to {type(target).__name__}")

    def write(self, data: bytes) -> None:
        """Writes lines."""
        with _named_errors("written"):
            self._file.write(data)

    def finish(self) -> None:
        """Puts what was written in its place."""
        with _named_errors("written"):
            self._file.flush()
            if self._path is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                os.replace(self._part, self._path)

    def discard(self) -> None:
        """Leaves a path as it was."""
        if self._path is not None:
            with suppress(OSError):
                self._file.close()
                os.unlink(self._part)


class Input:
    """Lines that are read twice: once to check them all, once to load them.

    What can't be rewound is kept in a temporary file meanwhile.
    """

    def __init__(self, source: Source) -> None:
        with _named_errors("read"):
            self._file, self._own = _opened(source)
            self._begin = self._file.tell()

    def batch(self) -> list[bytes]:
        """Up to a hundred lines, or some 4 MiB of them; none at the end."""
        lines: list[bytes] = []
        size = 0
        with _named_errors("read"):
            while len(lines) < _BATCH_LINES and size < _BATCH_BYTES and (line := self._file.readline()):
                lines.append(line)
                size += len(line)
        return lines

    def rewind(self) -> None:
        """Goes back to where it began."""
        with _named_errors("read"):
            self._file.seek(self._begin)

    def close(self) -> None:
        """Closes what was opened here."""
        if self._own:
            self._file.close()


def _opened(source: Source) -> tuple[IO[bytes], bool]:
    """A file that can be rewound, and whether it is to be closed here."""
    if isinstance(source, str | os.PathLike):
        return Path(source).open("rb"), True
    seekable = getattr(source, "seekable", None)
    if seekable is not None and seekable() and not isinstance(source, TextIOBase):
        return cast("IO[bytes]", source), False
    if isinstance(source, bytes) or not isinstance(source, Iterable):
        raise InvalidInput(f"an archive comes from a path, a binary file or lines, not {type(source).__name__}")
    return _spooled(source), True


def _spooled(lines: Iterable[str | bytes]) -> IO[bytes]:
    with ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile())
        file.writelines(as_lines(lines))
        file.seek(0)
        stack.pop_all()
    return file


@contextmanager
def _named_errors(done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"the archive can't be {done}: {error.strerror or type(error).__name__}") from error
