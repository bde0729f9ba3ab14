"""The form of an archive: JSON lines, first a heading, then the records of each section, last a manifest.

The manifest has the number of records and the SHA-256 of the lines of each section, and that of all lines before it, so
that whatever is cut short, changed, left out or put elsewhere is seen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from attrs import field, frozen

from tiered_memory import clock
from tiered_memory.errors import DamagedArchive

FORMAT = "tiered-memory archive"
"""What the heading says."""

VERSION = 1
"""The version of the form that is written, and the newest that is read."""


@frozen
class Heading:
    """Where an archive comes from.

    Attributes:
        scope: The exact scope; None is the unscoped pool.
        embedder: The id of the embedder there; no vectors are in the archive.
        exported_at: When, in ISO 8601.
    """

    scope: str | None
    embedder: str
    exported_at: str = field(factory=lambda: clock.now().isoformat())


@frozen
class Manifest:
    """What an archive holds.

    Attributes:
        heading: Where it comes from.
        records: How many records each section has.
        sha256: The SHA-256 of all lines before the manifest, in hexadecimal digits.
    """

    heading: Heading
    records: dict[str, int]
    sha256: str

    @property
    def total(self) -> int:
        """How many records there are."""
        return sum(self.records.values())


class Writer:
    """Turns a heading, records and a manifest into lines, and keeps count of them."""

    def __init__(self, heading: Heading) -> None:
        self._heading, self._sums = heading, _Sums()

    def heading(self) -> bytes:
        """The first line."""
        own = self._heading
        about = {"scope": own.scope, "embedder": own.embedder, "exported_at": own.exported_at}
        return self._sums.seen(None, _encoded({"format": FORMAT, "version": VERSION, **about}))

    def records(self, section: str, records: Iterable[dict[str, Any]]) -> bytes:
        """The lines of records."""
        lines = (_encoded({"section": section, "record": record}) for record in records)
        return b"".join(self._sums.seen(section, line) for line in lines)

    def end(self) -> bytes:
        """The last line."""
        return _encoded({"manifest": self._sums.said()})

    @property
    def manifest(self) -> Manifest:
        """What was written so far."""
        return Manifest(self._heading, dict(self._sums.records), self._sums.sha256)


class Reader:
    """Takes the lines of an archive one by one, and checks them."""

    def __init__(self) -> None:
        self._sums, self._heading, self._said = _Sums(), None, None
        self._number = 0

    _heading: Heading | None
    _said: dict[str, Any] | None

    def record(self, line: bytes, parse: Callable[[str, dict[str, Any]], Any]) -> tuple[str, Any] | None:
        """The section and what `parse` makes of the record of a line; None for the heading and the manifest.

        Raises `DamagedArchive` for a line that isn't one of an archive, or that can't be parsed.
        """
        self._number += 1
        try:
            return self._record(line, json.loads(line), parse)
        except DamagedArchive as damage:
            raise DamagedArchive(f"line {self._number}: {damage}") from None
        except (KeyError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise DamagedArchive(f"line {self._number} can't be read: {_reason(error)}") from None

    def manifest(self) -> Manifest:
        """What the lines that were taken say; raises `DamagedArchive` when it isn't what the last of them says."""
        if self._heading is None or self._said is None:
            raise DamagedArchive(f"the archive ends after line {self._number}, without its manifest; it was cut short")
        found = self._sums.said()
        if found != self._said:
            wrong = [name for name in found["sections"] if found["sections"][name] != self._said["sections"].get(name)]
            raise DamagedArchive(f"the checksum is wrong: {', '.join(wrong) or 'the whole'} was changed")
        return Manifest(self._heading, dict(self._sums.records), self._sums.sha256)

    def _record(self, line: bytes, value: Any, parse: Callable[[str, dict[str, Any]], Any]) -> tuple[str, Any] | None:
        if self._said is not None:
            raise DamagedArchive("something follows the manifest")
        if self._heading is None:
            self._heading = _heading(value)
            self._sums.seen(None, line)
            return None
        if "manifest" in value:
            self._said = {"sections": dict(value["manifest"]["sections"]), "sha256": value["manifest"]["sha256"]}
            return None
        section, record = value["section"], value["record"]
        self._sums.seen(section, line)
        return section, parse(section, record)


class _Sums:
    """How many records, and which bytes, were seen."""

    def __init__(self) -> None:
        self.records: dict[str, int] = {}
        self._whole, self._sections = hashlib.sha256(), dict[str, Any]()

    def seen(self, section: str | None, line: bytes) -> bytes:
        """`line` itself, counted."""
        self._whole.update(line)
        if section is not None:
            self.records[section] = self.records.get(section, 0) + 1
            self._sections.setdefault(section, hashlib.sha256()).update(line)
        return line

    @property
    def sha256(self) -> str:
        """The SHA-256 of everything."""
        return self._whole.hexdigest()

    def said(self) -> dict[str, Any]:
        """What a manifest says of it."""
        sections = {
            name: {"records": number, "sha256": self._sections[name].hexdigest()}
            for name, number in self.records.items()
        }
        return {"sections": sections, "sha256": self.sha256}


def as_lines(parts: Iterable[str | bytes]) -> Iterator[bytes]:
    """Lines as a file has them: bytes with a newline at the end."""
    for part in parts:
        line = part.encode() if isinstance(part, str) else part
        yield line if line.endswith(b"\n") else line + b"\n"


def _encoded(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _heading(value: Any) -> Heading:
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise DamagedArchive(f"it doesn't begin as a {FORMAT} does")
    if value["version"] != VERSION:
        raise DamagedArchive(f"the archive is of version {value['version']!r}, this release reads {VERSION}")
    return Heading(value["scope"], value["embedder"], value["exported_at"])


def _reason(error: Exception) -> str:
    """What is wrong, without quoting the archive unless our own checks do."""
    return str(error) if getattr(error, "code", None) else type(error).__name__
