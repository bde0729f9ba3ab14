"""A fact as the scripts keep it, and which times it is seen at."""

from __future__ import annotations

import re
from typing import Any

from attrs import field, frozen

from tiered_memory import clock
from tiered_memory.engine.reply import text
from tiered_memory.errors import CorruptRecord
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import Fact
from tiered_memory.graph.times import Times

_RECORD = re.compile(r"(\d+) (-?\d+) (-|-?\d+) (-|\d+) (-|[a-z][a-z0-9_]*)\n((?:\d+\t[^\n]+\n)+)")

NO_TIER = "-"
"""What stands for the tier of a fact that no record states."""


@frozen
class _Mention:
    entity: EntityRef
    time: int


@frozen
class StoredFact:
    """A fact as it is kept, with its times in microseconds.

    Attributes:
        memory_id: The id of its memory.
        number: What tells it from the id's other facts: the number of the record that states it, if one does.
        tier: The tier of that record, or None.
        recorded: When it was recorded.
        valid_from: From when it holds.
        valid_to: When it ceases to, or None.
        expired: When that became known, or None.
        mentions: Its entities, and since when they are known.
        text: Its sentence.
    """

    memory_id: str
    number: int
    tier: str | None
    recorded: int
    valid_from: int
    valid_to: int | None
    expired: int | None
    mentions: tuple[_Mention, ...]
    text: str = field(repr=False)

    @classmethod
    def read(cls, name: Any, record: Any, sentence: Any) -> StoredFact:
        """The fact that the scripts keep under this name; raises `CorruptRecord`."""
        found = _RECORD.fullmatch(text(record)) if record is not None else None
        if found is None:
            raise CorruptRecord("a fact of the graph isn't as we wrote it")
        recorded, valid_from, valid_to, expired, tier, lines = found.groups()
        mentions = [line.split("\t") for line in lines.rstrip("\n").split("\n")]
        memory_id, number = parted(name)
        return cls(
            memory_id=memory_id,
            number=int(number),
            tier=None if tier == NO_TIER else tier,
            recorded=int(recorded),
            valid_from=int(valid_from),
            valid_to=None if valid_to == "-" else int(valid_to),
            expired=None if expired == "-" else int(expired),
            mentions=tuple(_Mention(EntityRef.parse(entity), int(time)) for time, entity in mentions),
            text=text(sentence or b""),
        )

    def entities(self, times: Times) -> tuple[EntityRef, ...]:
        """What it was known to mention, or nothing unless it held then."""
        if self.recorded > times.known_by or self.valid_from > times.from_most:
            return ()
        ended = self.valid_to is not None and self.expired is not None and self.expired <= times.known_by
        if ended and self.valid_to <= times.to_least:  # type: ignore[operator]
            return ()
        return tuple(mention.entity for mention in self.mentions if mention.time <= times.known_by)

    @property
    def is_past(self) -> bool:
        """Whether it had ended when it was closed; such facts come last."""
        return self.valid_to is not None and self.expired is not None and self.valid_to <= self.expired

    def public(self) -> Fact:
        """The fact with times as they are shown."""
        return Fact(
            memory_id=self.memory_id,
            tier=self.tier,
            entities=tuple(mention.entity for mention in self.mentions),
            text=self.text,
            valid_from=clock.from_micros(self.valid_from),
            valid_to=None if self.valid_to is None else clock.from_micros(self.valid_to),
            recorded_at=clock.from_micros(self.recorded),
            expired_at=None if self.expired is None else clock.from_micros(self.expired),
        )


def parted(name: Any) -> tuple[str, str]:
    """A fact's name as the id of its memory and the fact's number."""
    memory_id, _, number = text(name).rpartition("#")
    if not (memory_id and number.isdecimal()):
        raise CorruptRecord("a fact of the graph has a name that isn't ours")
    return memory_id, number
