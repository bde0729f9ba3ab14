"""The files of an archive: text as text, other bytes as base64."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from tiered_memory import clock
from tiered_memory.archive.section import Outcome, Outcomes, Place, Record, Section, grouped, micros
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import DamagedArchive
from tiered_memory.files.items import File, is_text
from tiered_memory.files.kept import KeptFiles
from tiered_memory.files.paths import MAX_PATH_BYTES, check_path
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask

_STEP = 100
"""How many files are listed at a time."""

_BYTES = 4 * 1024 * 1024
"""How much of them is read at a time."""


class Files(Section):
    """The files of a scope that are kept in our store, copies of those in other stores included."""

    name = "files"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._files = KeptFiles(place.scope)

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """Up to a hundred files, or 4 MiB of them, in the order of their paths."""
        infos = yield from self._files.page("/", cursor or "", _STEP)
        if not infos:
            return Page([], None)
        count = grouped((info.size or 0 for info in infos), _BYTES)
        paths = [info.path for info in infos[:count]]
        files = yield from self._files.read_all(paths)
        ended = count == len(infos) < _STEP
        return Page([_record(file) for file in files if file is not None], None if ended else paths[-1])

    def parse(self, record: Record) -> File:
        """The file of a record."""
        path, mime = check_path(record["path"]), record["mime"]
        content = record["text"].encode() if "text" in record else base64.b64decode(record["base64"], validate=True)
        if len(path.encode()) > MAX_PATH_BYTES or not isinstance(mime, str):
            raise DamagedArchive("a file's path is too long, or its media type isn't text")
        created_at, modified_at = (clock.from_micros(micros(record[name])) for name in ("created_at", "modified_at"))
        return File.new(path, content, mime, modified_at).since(created_at)

    def load(self, parsed: Sequence[File]) -> Plan[Outcomes]:
        """Writes each file in one step, all of them in one round trip."""
        keys = self.place.keys
        outcomes = yield from ask(*(call("import_files", keys.scopes, self._arguments(file)) for file in parsed))
        return [(file.path, _outcome(reply)) for file, reply in zip(parsed, outcomes, strict=True)]

    def _arguments(self, file: File) -> tuple[str | bytes | int, ...]:
        keys = self.place.keys
        times = (clock.to_micros(file.created_at), clock.to_micros(file.modified_at))
        rest = ("size", file.size, "mime", file.mime, "content", file.content)
        return (keys.member, keys.token("files"), file.path, file.sha256, *times, *rest)


def _outcome(reply: Any) -> Outcome:
    return text(reply)  # type: ignore[return-value]


def _record(file: File) -> Record:
    content = {"text": file.text} if is_text(file.content) else {"base64": base64.b64encode(file.content).decode()}
    times = {"created_at": file.created_at.isoformat(), "modified_at": file.modified_at.isoformat()}
    return {"path": file.path, "mime": file.mime, **times, **content}
