"""How much memories have to do with the entities of a question, from the facts that these reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from attrs import field, frozen

from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.stored import Reached

if TYPE_CHECKING:
    from tiered_memory.tiers.base import Candidate

_DAMPING = 3
"""The power to which rarity is taken, so that an entity which many memories mention hardly counts."""

_SIBLING = 0.5
"""What a fact that mentions a sibling counts, beside one that mentions an entity which was asked for."""


@frozen
class Shares:
    """How much memories have to do with the entities of a question, in [0, 1].

    Attributes:
        records: Of those whose facts are their own, by the numbers of their records.
        ids: Of all memories of an id, by the id.
    """

    records: dict[str, float] = field(factory=dict)
    ids: dict[str, float] = field(factory=dict)

    def of(self, candidate: Candidate) -> float:
        """The share of a candidate."""
        number, id = candidate.record.rpartition(b":")[2].decode(), candidate.fields[b"id"].decode()
        return max(self.records.get(number, 0.0), self.ids.get(id, 0.0))


@frozen
class Reach:
    """What a question reached in the graph of one scope.

    Attributes:
        entities: The entities that it names.
        facts: The facts that were reached, in their order.
        walked: How often a walk through the graph met each memory, by its id; None: there was no walk.
    """

    entities: tuple[EntityRef, ...] = ()
    facts: Sequence[Reached] = field(default=(), repr=False)
    walked: Mapping[str, float] | None = field(default=None, repr=False)

    @property
    def shares(self) -> Shares:
        """How much each memory has to do with the entities.

        That is the rarity of its entities, which is 1 for one that no other memory mentions, to a power that damps
        what many mention. A sibling's counts half, and as much less as the entity that led to it is common. After a
        walk it is how often the walk met the memory, by the most.
        """
        if self.walked is not None:
            most = max(self.walked.values(), default=1.0)
            return Shares(ids={id: met / most for id, met in self.walked.items()})
        shares = Shares()
        rarities = [min(fact.weight / 1e6, 1.0) ** _DAMPING for fact in self.facts]
        led = max((rarity for fact, rarity in zip(self.facts, rarities, strict=True) if fact.direct), default=0.0)
        for fact, rarity in zip(self.facts, rarities, strict=True):
            of = shares.ids if fact.record is None else shares.records
            of.setdefault(fact.record or fact.memory_id, rarity * (1.0 if fact.direct else _SIBLING * led))
        return shares
