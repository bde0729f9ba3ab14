"""The graph of an archive: the facts of each memory, with their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from tiered_memory.archive.section import Outcomes, Record, Section, micros, moment, optional_micros
from tiered_memory.checks import check_id
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import DamagedArchive
from tiered_memory.graph import stored
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.facts import StoredFact
from tiered_memory.graph.items import IndexEntry
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask, join

_STEP = 100
"""How many facts are read, and of how many memories written, at a time."""


@frozen
class Chain:
    """The facts of a memory, the oldest first, each as it is kept, and its text."""

    id: str
    facts: list[tuple[str, str]]


class Facts(Section):
    """The facts of a scope's graph."""

    name = "graph"

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """The memories whose newest facts are among the next hundred, in the order of these."""
        start = int(cursor or 0)
        found = yield from stored.newest(self.place.keys, start, _STEP)
        chains = yield from join(stored.facts(self.place.keys, fact.memory_id) for fact in found)
        records = [_record(chain) for fact, chain in zip(found, chains, strict=True) if chain[:1] == [fact]]
        return Page(records, str(start + _STEP) if len(found) == _STEP else None)

    def parse(self, record: Record) -> Chain:
        """The facts of a record."""
        id = check_id(record["id"])
        facts = [(_kept(each), IndexEntry(id, (), each["text"]).text) for each in record["facts"]]
        times = [micros(each["recorded_at"]) for each in record["facts"]]
        closed = [each.get("expired_at") is not None for each in record["facts"]]
        if not facts or not all(closed[:-1]) or any(later < earlier for earlier, later in pairwise(times)):
            raise DamagedArchive(f"the facts of memory {id!r} don't follow each other")
        return Chain(id, facts)

    def load(self, parsed: Sequence[Chain]) -> Plan[Outcomes]:
        """Writes the facts of memories that have none."""
        keys, outcomes = self.place.keys, []
        for start in range(0, len(parsed), _STEP):
            arguments: list[str | int] = [keys.member, keys.token("graph")]
            for chain in parsed[start : start + _STEP]:
                arguments += [chain.id, len(chain.facts), *(value for fact in chain.facts for value in fact)]
            (replies,) = yield from ask(call("import_facts", keys.scopes, arguments))
            outcomes += [text(reply) for reply in replies]
        return [(chain.id, outcome) for chain, outcome in zip(parsed, outcomes, strict=True)]  # type: ignore[misc]


def _record(chain: Sequence[StoredFact]) -> Record:
    return {"id": chain[0].memory_id, "facts": [_encode(fact) for fact in reversed(chain)]}


def _encode(fact: StoredFact) -> dict[str, Any]:
    times = {
        "recorded_at": fact.recorded, "valid_from": fact.valid_from, "valid_to": fact.valid_to,
        "expired_at": fact.expired,
    }  # fmt: skip
    entities = [[str(mention.entity), moment(mention.time)] for mention in fact.mentions]
    return {name: moment(time) for name, time in times.items() if time is not None} | {
        "entities": entities,
        "text": fact.text,
    }


def _kept(record: dict[str, Any]) -> str:
    """A fact as the scripts keep it."""
    ends = [optional_micros(record, name) for name in ("valid_to", "expired_at")]
    if (ends[0] is None) != (ends[1] is None) or not record["entities"]:
        raise DamagedArchive("a fact has no entities, or only one of the two times of its end")
    times = [
        micros(record["recorded_at"]),
        micros(record["valid_from"]),
        *("-" if end is None else end for end in ends),
    ]
    lines = [f"{micros(time)}\t{EntityRef.parse(entity)}\n" for entity, time in record["entities"]]
    return " ".join(map(str, times)) + "\n" + "".join(lines)
