"""Sections: each knows one kind of thing that a scope holds, and how it is written to and read from an archive."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Literal, TypeAlias

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.errors import DamagedArchive
from tiered_memory.items import MemoryItem, Page
from tiered_memory.plan import Plan

Record: TypeAlias = "dict[str, Any]"
"""Something as a JSON object."""

Outcome: TypeAlias = Literal["imported", "skipped", "conflict", "expired"]
"""What became of a record: written; there already; something else stands there, and stays; its time was up."""

Outcomes: TypeAlias = "list[tuple[str, Outcome]]"
"""What a record is called by, and what became of it, for each."""


@frozen
class Place:
    """What is exported, or loaded into.

    Attributes:
        keyspace: The namespace's keys.
        scope: The scope.
        tiers: All tiers that it may have.
        words_of: Tells by which words an item is found.
    """

    keyspace: Keyspace
    scope: str | None
    tiers: Sequence[Keeping]
    words_of: Callable[[MemoryItem], str]

    @property
    def keys(self) -> ScopeKeys:
        """The keys of the scope."""
        return self.keyspace.of(self.scope)


class Section(ABC):
    """One kind of thing; made anew for each export and each load."""

    name: ClassVar[str]
    """What its records are marked with in an archive."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @abstractmethod
    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """A bounded part of what the scope has, in a fixed order."""

    @abstractmethod
    def parse(self, record: Record) -> Any:
        """What a record says; raises `InvalidInput`, or what a value of a wrong type or an absent one raises."""

    @abstractmethod
    def load(self, parsed: Sequence[Any]) -> Plan[Outcomes]:
        """Writes what records say beside what is there; each is written wholly, or not at all."""


class TierSection(Section):
    """A section with a part for each tier that keeps `notes`, or records."""

    notes: ClassVar[bool] = False

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.tiers = [keeping for keeping in place.tiers if keeping.notes == self.notes]

    @abstractmethod
    def part(self, keeping: Keeping, after: str) -> Plan[Page[Record]]:
        """A bounded part of what the scope has in a tier."""

    @abstractmethod
    def write(self, keeping: Keeping, parsed: Sequence[Any]) -> Plan[list[Outcome]]:
        """Writes what records of a tier say."""

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """A part of one tier; then the next tier."""
        number, _, after = (cursor or "0:").partition(":")
        place = int(number)
        if place >= len(self.tiers):
            return Page([], None)
        keeping = self.tiers[place]
        part = yield from self.part(keeping, after)
        records = [{"tier": keeping.name, **record} for record in part.items]
        return Page(records, f"{place}:{part.cursor}" if part.cursor else f"{place + 1}:")

    def load(self, parsed: Sequence[Any]) -> Plan[Outcomes]:
        """Writes tier by tier; what is parsed has its `tier` and `id`."""
        outcomes: Outcomes = []
        for keeping in self.tiers:
            own = [each for each in parsed if each.tier == keeping.name]
            if own:
                written = yield from self.write(keeping, own)
                outcomes += zip((f"{each.tier} {each.id}" for each in own), written, strict=True)
        return outcomes

    def check_tier(self, name: Any) -> str:
        """`name` itself, if it is one of the section's tiers; else `DamagedArchive`."""
        if name not in [keeping.name for keeping in self.tiers]:
            kind = "notes" if self.notes else "records"
            raise DamagedArchive(f"the archive has {kind} of a tier {name!r}, which the configuration doesn't have")
        return str(name)


def moment(micros: bytes | str | int) -> str:
    """A time as an archive has it: ISO 8601 in UTC."""
    return clock.from_micros(int(micros)).isoformat()


def micros(moment: Any) -> int:
    """A time that `moment` made, in microseconds."""
    return clock.to_micros(clock.utc(datetime.fromisoformat(moment)))


def optional_micros(record: Mapping[str, Any], name: str) -> int | None:
    """The time of that name, or None where there is none."""
    return micros(record[name]) if record.get(name) is not None else None


def grouped(sizes: Iterable[int], most: int) -> int:
    """How many of the first things have at most `most` bytes together; at least one."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > most:
            break
        count += 1
    return count
