"""The graph of an archive: the facts of each memory, with their times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from attrs import frozen

from tiered_memory.archive.section import Outcomes, Record, Section, micros, moment, optional_micros
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.checks import check_id
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import DamagedArchive
from tiered_memory.graph import stored
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.facts import NO_TIER, StoredFact
from tiered_memory.graph.items import IndexEntry
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask, join
from tiered_memory.scope import digest

_STEP = 100
"""How many facts are read, and of how many memories written, at a time."""


@frozen
class Chain:
    """The facts of a memory of a tier, or of none, the oldest first: each as it is kept, and its text."""

    tier: str | None
    id: str
    facts: list[tuple[str, str]]


class Facts(Section):
    """The facts of a scope's graph."""

    name = "graph"

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """The memories whose newest facts are among the next hundred, in the order of these."""
        start, keys = int(cursor or 0), self.place.keys
        found = yield from stored.newest(keys, start, _STEP)
        known = yield from join(stored.facts(keys, self._tiers, fact.memory_id) for fact in found)
        chains = [[each for each in row if each.tier == fact.tier] for fact, row in zip(found, known, strict=True)]
        records = [_record(chain) for fact, chain in zip(found, chains, strict=True) if chain[:1] == [fact]]
        return Page(records, str(start + _STEP) if len(found) == _STEP else None)

    def parse(self, record: Record) -> Chain:
        """The facts of a record."""
        id, tier = check_id(record["id"]), record.get("tier")
        if tier is not None and tier not in [keeping.name for keeping in self._tiers]:
            raise DamagedArchive(f"the archive has facts of a tier {tier!r}, which the configuration doesn't have")
        facts = [(_kept(each, tier), IndexEntry(id, (), each["text"]).text) for each in record["facts"]]
        times = [micros(each["recorded_at"]) for each in record["facts"]]
        closed = [each.get("expired_at") is not None for each in record["facts"]]
        # those of a memory may have been indexed after it was superseded
        disordered = tier is None and any(later < earlier for earlier, later in pairwise(times))
        if not facts or not all(closed[:-1]) or disordered:
            raise DamagedArchive(f"the facts of memory {id!r} don't follow each other")
        return Chain(tier, id, facts)

    def load(self, parsed: Sequence[Chain]) -> Plan[Outcomes]:
        """Writes facts of memories that are there, and those without one where an id has none."""
        keys, outcomes = self.place.keys, []
        for start in range(0, len(parsed), _STEP):
            arguments: list[str | int] = [keys.member, keys.token("graph")]
            for chain in parsed[start : start + _STEP]:
                token = "" if chain.tier is None else keys.token(chain.tier)
                arguments += [token, digest(chain.id), chain.id, len(chain.facts)]
                arguments += [value for fact in chain.facts for value in fact]
            (replies,) = yield from ask(call("import_facts", keys.scopes, arguments))
            outcomes += [text(reply) for reply in replies]
        return [(chain.id, outcome) for chain, outcome in zip(parsed, outcomes, strict=True)]  # type: ignore[misc]

    @property
    def _tiers(self) -> list[Keeping]:
        return [keeping for keeping in self.place.tiers if not keeping.notes]


def _record(chain: Sequence[StoredFact]) -> Record:
    whose = {"id": chain[0].memory_id} | ({"tier": chain[0].tier} if chain[0].tier else {})
    return whose | {"facts": [_encode(fact) for fact in reversed(chain)]}


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


def _kept(record: dict[str, Any], tier: str | None) -> str:
    """A fact as the scripts keep it."""
    ends = [optional_micros(record, name) for name in ("valid_to", "expired_at")]
    if (ends[0] is None) != (ends[1] is None) or not record["entities"]:
        raise DamagedArchive("a fact has no entities, or only one of the two times of its end")
    times = [
        micros(record["recorded_at"]),
        micros(record["valid_from"]),
        *("-" if end is None else end for end in ends),
        tier or NO_TIER,
    ]
    lines = [f"{micros(time)}\t{EntityRef.parse(entity)}\n" for entity, time in record["entities"]]
    return " ".join(map(str, times)) + "\n" + "".join(lines)
