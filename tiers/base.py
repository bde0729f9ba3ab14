"""What a tier is: a name, how it keeps what it is given, and how it answers a recall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta

from attrs import frozen

from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.items import RecalledMemory
from tiered_memory.plan import Plan


@frozen
class Search:
    """One recall, as each tier and scope is asked it.

    Attributes:
        keyspace: The namespace's keys.
        scope: The keys of the one scope that is searched.
        vector: The query's vector as float32 bytes; None for a blank query.
        k: How many hits at the most.
        threshold: The least cosine that the caller wants, or None.
        floor: The embedder's own least cosine, or None.
        now: The present, in microseconds since 1970.
        as_of: Another time as of which is recalled, likewise, or None.
        include_superseded: Whether what was believed before may be a hit too.
    """

    keyspace: Keyspace
    scope: ScopeKeys
    vector: bytes | None
    k: int
    threshold: float | None
    floor: float | None
    now: int
    as_of: int | None = None
    include_superseded: bool = False

    @property
    def moment(self) -> int:
        """The time as of which is recalled and scored, in microseconds since 1970."""
        return self.now if self.as_of is None else self.as_of


class Tier(ABC):
    """A kind of memory: `keeping` says how it keeps what it is given, `recall` how that is found."""

    keeping: Keeping
    ttl: timedelta | None = None
    """How long it keeps what doesn't say so itself; None: until it is forgotten."""

    @property
    def name(self) -> str:
        """What users call it."""
        return self.keeping.name

    @property
    def embeds(self) -> bool:
        """Whether what it is given, and what it is asked, needs an embedding."""
        return not self.keeping.notes

    @abstractmethod
    def recall(self, search: Search) -> Plan[list[RecalledMemory]]:
        """Its best hits, at most `search.k`, from exactly the scope of `search`."""
