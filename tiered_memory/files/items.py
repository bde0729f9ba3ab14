"""What a file system gives: files, what is known of them, and the lines in which a text was found."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from mimetypes import MimeTypes

from attrs import evolve, field, frozen

from tiered_memory.errors import InvalidInput

MAX_BYTES = 1024 * 1024
"""How large a file may be, unless a file system says otherwise."""

_TYPES = MimeTypes()
_TYPES.add_type("text/markdown", ".md")


@frozen
class FileInfo:
    """What is known of a file without reading it.

    Attributes:
        path: Its absolute path.
        size: Its length in bytes; like all that follows None while a store of your own has named its path only.
        sha256: The SHA-256 of its content, in hexadecimal digits.
        mime: Its media type.
        created_at: When it was first kept here.
        modified_at: When its content was last changed here.
    """

    path: str
    size: int | None = None
    sha256: str | None = None
    mime: str | None = None
    created_at: datetime | None = None
    modified_at: datetime | None = None


@frozen(kw_only=True)
class File:
    """A file.

    Attributes:
        path: Its absolute path.
        content: Its content, byte for byte.
        sha256: The SHA-256 of its content, in hexadecimal digits: pass it as `if_match` to change this version only.
        mime: Its media type.
        created_at: When it was first kept here.
        modified_at: When its content was last changed here.
    """

    path: str
    content: bytes = field(repr=False)
    sha256: str
    mime: str
    created_at: datetime
    modified_at: datetime

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.content)

    @property
    def text(self) -> str:
        """Its content as text; raises `InvalidInput` if that isn't UTF-8."""
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"{self.path} is not UTF-8 text; use its `content`") from None

    @property
    def info(self) -> FileInfo:
        """All but its content."""
        return FileInfo(self.path, self.size, self.sha256, self.mime, self.created_at, self.modified_at)

    @classmethod
    def new(cls, path: str, content: bytes, mime: str | None, moment: datetime) -> File:
        """A file that is made at `moment`; its media type follows from its name unless it is given."""
        kind = mime or guess_type(path, content)
        digest = sha256(content).hexdigest()
        return cls(path=path, content=content, sha256=digest, mime=kind, created_at=moment, modified_at=moment)

    def at(self, path: str) -> File:
        """The same content at another path."""
        return evolve(self, path=path)

    def since(self, created_at: datetime | None) -> File:
        """The same file, created then."""
        return evolve(self, created_at=created_at or self.created_at)

    def unchanged(self, info: FileInfo) -> File:
        """The same file, with the times and the media type under which its content is known already."""
        modified_at, mime = info.modified_at or self.modified_at, info.mime or self.mime
        return evolve(self.since(info.created_at), modified_at=modified_at, mime=mime)


@frozen
class Line:
    """A line in which a text was found.

    Attributes:
        path: The file's path.
        number: The line's number, from 1.
        text: The line, without its end.
    """

    path: str
    number: int
    text: str


@frozen
class FoundLines:
    """The lines that `find` found.

    Attributes:
        lines: In the order of their paths and numbers.
        truncated: Whether the search ended at its limit, so that there may be more.
    """

    lines: list[Line]
    truncated: bool


def guess_type(path: str, content: bytes) -> str:
    """The media type that a file's name says; else that of text or of bytes, as the content is."""
    known, _ = _TYPES.guess_type(path.rpartition("/")[2], strict=False)
    return known or ("text/plain" if is_text(content) else "application/octet-stream")


def is_text(content: bytes) -> bool:
    """Whether these bytes are UTF-8 without NUL."""
    try:
        return "\0" not in content.decode()
    except UnicodeDecodeError:
        return False
