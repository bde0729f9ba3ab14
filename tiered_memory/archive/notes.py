"""The notes of an archive: working memory, in its order."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tiered_memory import clock
from tiered_memory.archive.section import Outcome, Record, TierSection
from tiered_memory.archive.versions import Version, decode, encode
from tiered_memory.assertions.fields import is_of, own_fields
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.checks import encode_metadata
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest

_STEP = 100
"""How many notes are read at a time."""


@frozen
class Note:
    """A note of a tier."""

    tier: str
    id: str
    version: Version


class Notes(TierSection):
    """The notes of a scope."""

    name = "notes"
    notes = True

    def part(self, keeping: Keeping, after: str) -> Plan[Page[Record]]:
        """Up to a hundred notes, the first one in first."""
        keys = self.place.keys
        arguments = (clock.now_micros(), *keeping.address(keys), after, _STEP, "oldest", "")
        ((following, found),) = yield from ask(call("page", keys.scopes, arguments))
        rows = [fields for fields in (pairs(each) for _, each in found) if is_of(fields, keys)]
        return Page([{"id": text(fields[b"id"]), **encode(fields)} for fields in rows], text(following) or None)

    def parse(self, record: Record) -> Note:
        """The note of a record."""
        tier, id = self.check_tier(record["tier"]), record["id"]
        return Note(tier, id, decode(record, tier, id))

    def write(self, keeping: Keeping, parsed: Sequence[Note]) -> Plan[list[Outcome]]:
        """Writes them after the notes that are there."""
        keys = self.place.keys
        arguments: list[str | int] = [clock.now_micros(), keys.member, *keeping.address(keys)]
        arguments += [keeping.most, keeping.idle]
        for note in parsed:
            fields = self._fields(note.version)
            arguments += [digest(note.id), len(fields)]
            for name, value in fields.items():
                arguments += [name, str(value)]
        (outcomes,) = yield from ask(call("import_notes", keys.scopes, arguments))
        return [text(outcome) for outcome in outcomes]  # type: ignore[misc]

    def _fields(self, version: Version) -> dict[str, str | float]:
        item = version.item
        known = version.times
        times: dict[str, float] = {
            name: known[name] for name in ("created_at", "updated_at", "expires_at") if name in known
        }
        return {
            **own_fields(item, self.place.scope, cut=False, reason=None),
            "text": item.text,
            "metadata": encode_metadata(item.metadata or {}),
            "at": clock.to_micros(item.at) if item.at else 0,
            "uses": version.uses,
            **times,
        }
