"""What a tier is: a name, how it keeps what it is given, and how it answers a recall."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import timedelta

from attrs import define, frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import RECALLED
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import Fields
from tiered_memory.items import MemoryItem, Mode
from tiered_memory.plan import Plan
from tiered_memory.relevance import Corpus, Question


@frozen
class Search:
    """One recall, as each tier and scope is asked it.

    Attributes:
        keyspace: The namespace's keys.
        scope: The keys of the one scope that is searched.
        vector: The query's vector as bytes; None for a blank query, and in mode `text`.
        k: How many hits at the most.
        threshold: The least cosine that the caller wants, or None.
        floor: The embedder's own least cosine, or None.
        now: The present, in microseconds since 1970.
        as_of: Another time as of which is recalled, likewise, or None.
        include_superseded: Whether what was believed before may be a hit too.
        mode: What finds memories: their vectors, their words, or both.
        question: What is asked, as words; None in mode `vector`, or when nothing is left of it.
        among: None but memories of these ids may be hits; None: all.
        records: The keys of such memories' records, as far as they are known.
        query: What is asked, as the caller said it.
        graph_weight: How much the graph adds to relevance at the most.
        diversity: How much hits are to differ, in [0, 1).
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
    mode: Mode = "vector"
    question: Question | None = None
    among: Sequence[str] | None = None
    records: Sequence[str] = ()
    query: str = ""
    graph_weight: float = 0.0
    diversity: float = 0.0

    @property
    def moment(self) -> int:
        """The time as of which is recalled and scored, in microseconds since 1970."""
        return self.now if self.as_of is None else self.as_of

    @property
    def fields(self) -> tuple[str, ...]:
        """What a hit is made and chosen from; the present knows no superseded ones, and only few need vectors."""
        status = ("superseded",) if self.as_of is not None or self.include_superseded else ()
        vector = (self.keyspace.vector,) if self.diversity else ()
        return (*RECALLED, *status, *vector)


@define
class Candidate:
    """A memory that may be a hit.

    Attributes:
        fields: The memory's fields, as they lie in the store.
        score: What hits are ordered by.
        similarity: The cosine of query and memory, or None where it isn't known.
        why: What the score was made from, by name.
        place: Its place in the order of its tier and scope, or -1 where that wasn't asked for.
        record: The key of its record, where that is known.
        graph: How much it has to do with the entities of the question, in [0, 1].
    """

    fields: Fields
    score: float
    similarity: float | None
    why: dict[str, float]
    place: int = -1
    record: bytes = b""
    graph: float = 0.0


@frozen
class Found:
    """What a tier found in one scope: its candidates, and what is still to be rated needs.

    Attributes:
        tier: The tier.
        search: What it was asked.
        candidates: What may be a hit; its best k are among it.
        corpus: What the words of those are weighed by that are still to be rated.
        size: How many ids its tier has in the scope.
        lowest: The lowest cosine among the candidates that similarity found.
    """

    tier: Tier
    search: Search
    candidates: list[Candidate]
    corpus: Corpus | None = None
    size: int = 0
    lowest: float = 0.0


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

    def described(self, item: MemoryItem) -> str:
        """The words by which an item is found: its text."""
        return item.text

    def least(self, search: Search) -> float:
        """The least cosine of a hit of `search`, where cosines matter."""
        return ranking.DEFAULT_THRESHOLD if search.threshold is None else search.threshold

    @abstractmethod
    def recall(self, search: Search) -> Plan[Found]:
        """What may be a hit, from exactly the scope of `search`; the best `search.k` are among it."""
