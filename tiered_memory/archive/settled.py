"""Pairs of memories in an archive that are much alike, and shall be."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tiered_memory.archive.section import Outcome, Record, TierSection, micros, moment
from tiered_memory.assertions.fields import as_written
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.checks import check_id
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest


@frozen
class Pair:
    """Two memories that are much alike and shall be, each by its id and when it was recorded."""

    tier: str
    a: tuple[str, int]
    b: tuple[str, int]

    @property
    def id(self) -> str:
        """Both ids."""
        return f"{self.a[0]} / {self.b[0]}"


class Settled(TierSection):
    """Pairs of memories that are kept both, so that they are no conflict."""

    name = "settled"

    def part(self, keeping: Keeping, after: str) -> Plan[Page[Record]]:
        """All pairs of a tier, as far as both stand."""
        del after
        keys = self.place.keys
        (members,) = yield from ask(("SMEMBERS", keys.key("settled", keeping.name)))
        with as_written():
            numbers = sorted(tuple(map(int, text(member).split(":"))) for member in members)
        prefix = keys.scopes.removesuffix("scopes")
        wanted = ("id", "recorded_at", "active")
        replies = yield from ask(*(("HMGET", f"{prefix}record:{each}", *wanted) for pair in numbers for each in pair))
        ends = [{"id": text(id), "recorded_at": moment(at)} if active else None for id, at, active in replies]
        return Page([{"a": a, "b": b} for a, b in zip(ends[::2], ends[1::2], strict=True) if a and b], None)

    def parse(self, record: Record) -> Pair:
        """The pair of a record."""
        a, b = ((check_id(end["id"]), micros(end["recorded_at"])) for end in (record["a"], record["b"]))
        return Pair(self.check_tier(record["tier"]), a, b)

    def write(self, keeping: Keeping, parsed: Sequence[Pair]) -> Plan[list[Outcome]]:
        """Writes those pairs both of which stand as they did."""
        keys = self.place.keys
        arguments: list[str | int] = [*keeping.address(keys)]
        for pair in parsed:
            for id, recorded_at in (pair.a, pair.b):
                arguments += [digest(id), recorded_at]
        (outcomes,) = yield from ask(call("import_settled", keys.scopes, arguments))
        return [text(outcome) for outcome in outcomes]  # type: ignore[misc]
