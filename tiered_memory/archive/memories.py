"""The memories of an archive: what stands and stood at each id, and what waits there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from tiered_memory import clock
from tiered_memory.archive.section import Outcome, Record, TierSection
from tiered_memory.archive.versions import Version, decode, encode
from tiered_memory.assertions.fields import is_of, own_fields
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.views import document_fields, view_arguments, view_uri
from tiered_memory.checks import encode_metadata
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import DamagedArchive
from tiered_memory.items import Page
from tiered_memory.plan import Embedding, Plan, ask, embed
from tiered_memory.scope import digest
from tiered_memory.terms import terms

_STEP = 50
"""How many ids are read at a time."""

Argument = str | bytes | int | float


@frozen
class Slot:
    """What is remembered at an id of a tier: a chain of versions, the oldest first, or one that waits for review."""

    tier: str
    id: str
    waits: bool
    versions: list[Version]


class _Assertions(TierSection):
    waits: bool

    def write(self, keeping: Keeping, parsed: Sequence[Slot]) -> Plan[list[Outcome]]:
        """Writes what isn't there yet in one step, embedded anew."""
        outcomes = yield from self._ask(keeping, parsed, {})
        missing = [each for each, outcome in zip(parsed, outcomes, strict=True) if outcome == "imported"]
        if not missing:
            return outcomes
        words = list(dict.fromkeys(self._words(version) for each in missing for version in each.versions))
        embeddings = dict(zip(words, (yield from embed(words)), strict=True))
        written = iter((yield from self._ask(keeping, missing, embeddings)))
        return [next(written) if outcome == "imported" else outcome for outcome in outcomes]

    def _ask(
        self, keeping: Keeping, parsed: Sequence[Slot], embeddings: Mapping[str, Embedding]
    ) -> Plan[list[Outcome]]:
        """Writes memories with their embeddings; without any it only looks what would become of them."""
        keys = self.place.keys
        arguments: list[Argument] = [clock.now_micros(), keys.member, *keeping.address(keys)]
        arguments += [keeping.most, keeping.half_life, "write" if embeddings else "look"]
        for each in parsed:
            arguments += [digest(each.id), "claims" if each.waits else "chain", len(each.versions)]
            for version in each.versions:
                arguments += self._arguments(keeping, version, embeddings.get(self._words(version)))
        views = {place: uri for place, each in enumerate(parsed, 1) if (uri := view_uri(keeping, each.id))}
        if views:
            arguments += view_arguments(keys, views, {}, len(arguments))
        script = "import_records_in_tree" if views else "import_records"
        (outcomes,) = yield from ask(call(script, keys.scopes, arguments))
        return [text(outcome) for outcome in outcomes]  # type: ignore[misc]

    def _arguments(self, keeping: Keeping, version: Version, embedding: Embedding | None) -> list[Argument]:
        item, times = version.item, version.times
        fields: dict[str, Argument] = self._fields(version, embedding) if embedding else {}
        uri = view_uri(keeping, item.key)
        if embedding and uri:
            fields |= document_fields(uri, item.text)
        arguments: list[Argument] = [
            item.text,
            times["recorded_at"],
            "" if item.metadata is None else encode_metadata(item.metadata),
            *(times.get(name, "") for name in ("active_from", "created_at", "updated_at", "expires_at")),
            version.uses,
            item.importance,
            version.surfaced or "",
            times.get("surfaced_at", "") if version.surfaced else "",
            len(fields),
        ]
        for pair in fields.items():
            arguments += pair
        return arguments

    def _fields(self, version: Version, embedding: Embedding) -> dict[str, Argument]:
        item = version.item
        return {
            **own_fields(item, self.place.scope, cut=embedding.cut, reason=version.reason),
            self.place.keyspace.vector: embedding.vector,
            "terms": " ".join(terms(self._words(version))),
            "at": clock.to_micros(item.at) if item.at else 0,
        }

    def _words(self, version: Version) -> str:
        return self.place.words_of(version.item)

    def _decode(self, record: Any, tier: str, id: str) -> Version:
        version = decode(record, tier, id)
        needed = {"recorded_at"} if self.waits else {"recorded_at", "active_from"}
        needed |= {"surfaced_at"} if version.surfaced else set()
        if not needed <= version.times.keys():
            raise DamagedArchive(f"a version at id {id!r} lacks {', '.join(sorted(needed - version.times.keys()))}")
        return version


class Memories(_Assertions):
    """What stands at each id, with all that it superseded."""

    name = "memories"
    waits = False

    def part(self, keeping: Keeping, after: str) -> Plan[Page[Record]]:
        """Up to fifty ids, in the order in which they were first remembered."""
        keys = self.place.keys
        arguments = (clock.now_micros(), *keeping.address(keys), after, _STEP, "oldest", "history")
        ((following, found),) = yield from ask(call("page", keys.scopes, arguments))
        rows = [fields for fields in (pairs(each) for _, each in found) if fields and is_of(fields, keys)]
        records = []
        for _, chain in groupby(rows, key=lambda fields: fields[b"slot"]):
            versions = list(chain)
            records.append({"id": text(versions[0][b"id"]), "versions": [encode(fields) for fields in versions]})
        return Page(records, text(following) or None)

    def parse(self, record: Record) -> Slot:
        """The chain of a record, which has the newest version first."""
        tier, id = self.check_tier(record["tier"]), record["id"]
        versions = [self._decode(each, tier, id) for each in reversed(record["versions"])]
        if not versions:
            raise DamagedArchive(f"id {id!r} has no version")
        return Slot(tier, id, False, versions)


class Candidates(_Assertions):
    """What waits for review."""

    name = "candidates"
    waits = True

    def part(self, keeping: Keeping, after: str) -> Plan[Page[Record]]:
        """Up to fifty claims, the oldest first."""
        keys = self.place.keys
        arguments = (clock.now_micros(), *keeping.address(keys), after, _STEP)
        ((following, found),) = yield from ask(call("pending", keys.scopes, arguments))
        rows = [fields for fields in (pairs(each[1]) for each in found) if fields and is_of(fields, keys)]
        return Page([{"id": text(fields[b"id"]), **encode(fields)} for fields in rows], text(following) or None)

    def parse(self, record: Record) -> Slot:
        """The claim of a record."""
        tier, id = self.check_tier(record["tier"]), record["id"]
        return Slot(tier, id, True, [self._decode(record, tier, id)])
