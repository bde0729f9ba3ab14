"""What goes in and what comes out: items to remember, memories as they stand, hits, outcomes, pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from attrs import define, field, frozen
from attrs.converters import optional

from tiered_memory.checks import (
    check_confidence,
    check_id,
    check_importance,
    check_metadata,
    check_source,
    check_status,
    check_text,
    check_ttl,
)
from tiered_memory.clock import utc
from tiered_memory.scope import check_scope, digest

if TYPE_CHECKING:
    from tiered_memory.graph.shares import Reach

T = TypeVar("T")

Status: TypeAlias = Literal["candidate", "active", "superseded"]
"""A *candidate* waits for review, an *active* memory is believed, a *superseded* one was."""

Outcome: TypeAlias = Literal["recorded", "reaffirmed", "superseded", "replaced", "updated", "queued", "already_queued"]
"""What remembering did: a first memory at its id; the same text again; a new text in place of an older one
(*superseded* where the old one stays as history, *replaced* in working memory); the same text with other
values; a candidate that now waits for review, or one that waited already."""


Mode: TypeAlias = Literal["vector", "text", "hybrid"]
"""What finds memories: their vectors, their words, or both."""


@frozen
class MemoryItem:
    """Something to remember. What isn't given takes its default, or stays as it stands at the id.

    Attributes:
        text: The memory itself, in words.
        tier: `working`, `semantic`, `episodic` or `procedural`; default: the configuration's `default_tier`, or the
            tier of its type where the id is the URI of a memory.
        id: Where it stands in its tier and scope; default: a digest of the text. One such as
            `viking://user/memories/events/trip` is the URI of a memory that is a document, too.
        scope: The exact scope; on a scoped handle it may be left out, or must be the handle's own.
        metadata: JSON values by name. Given, it replaces what stands at the id; None leaves that as it is.
        at: When it happened, an aware time; default: now.
        status: `active`, or `candidate` to wait for review.
        confidence: How sure the source is, in [0, 1].
        importance: How much it matters, in [0, 1].
        source: Who says so, e.g. `user` or `extractor`.
        ttl: How long it is kept, a time span or seconds; default: until it is forgotten.

    Raises:
        InvalidItem: A value is out of its range; the message says which.
        InvalidScope: The scope is empty or too long.
    """

    text: str = field(converter=check_text, repr=False)
    tier: str | None = None
    id: str | None = field(default=None, converter=optional(check_id), kw_only=True)
    scope: str | None = field(default=None, converter=check_scope, kw_only=True)
    metadata: dict[str, Any] | None = field(default=None, converter=check_metadata, kw_only=True, repr=False)
    at: datetime | None = field(default=None, converter=optional(utc), kw_only=True)
    status: Literal["active", "candidate"] = field(default="active", converter=check_status, kw_only=True)
    confidence: float = field(default=0.5, converter=check_confidence, kw_only=True)
    importance: float = field(default=0.5, converter=check_importance, kw_only=True)
    source: str | None = field(default=None, converter=check_source, kw_only=True)
    ttl: timedelta | None = field(default=None, converter=check_ttl, kw_only=True)

    @cached_property
    def key(self) -> str:
        """The item's id: the given one, or a digest of its text."""
        return self.id if self.id is not None else digest(self.text)


@define(kw_only=True)
class MemoryRecord:
    """A memory as it stands in its tier and scope.

    Attributes:
        id: Where it stands.
        text: The memory itself.
        tier: Its tier.
        scope: Its exact scope; None is the unscoped pool.
        status: `active`, `candidate` or `superseded`.
        metadata: JSON values by name, a copy of its own.
        at: When it happened.
        created_at: When something was first remembered at its id.
        updated_at: When it was last remembered or updated.
        expires_at: When it will be forgotten, or None.
        uses: How often it was remembered, from 1.
        confidence: In [0, 1].
        importance: In [0, 1].
        source: Who said so, or None.
        cut: Whether only the beginning of the text fitted into the embedder, and is found by similarity.
    """

    id: str
    text: str = field(repr=False)
    tier: str
    scope: str | None
    status: Status = "active"
    metadata: dict[str, Any] = field(factory=dict, repr=False)
    at: datetime
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None = None
    uses: int = 1
    confidence: float = 0.5
    importance: float = 0.5
    source: str | None = None
    cut: bool = False


@define(kw_only=True)
class Assertion(MemoryRecord):
    """A memory of a tier that is searched, with its life so far.

    Attributes:
        number: Its own number; what was recorded later in a partition has a higher one.
        recorded_at: When it was written, as a candidate or at once as the active one.
        active_from: When it became active, or None.
        superseded_at: When another took its place, or None.
        supersedes: The number of the assertion in whose place it came, or None.
        superseded_by: The number of the assertion that took its place, or None.
        surfaced: How often recalls have shown it.
        surfaced_at: When a recall last showed it, or None.
        reason: Why it was sent to review, or None.
    """

    number: int
    recorded_at: datetime
    active_from: datetime | None = None
    superseded_at: datetime | None = None
    supersedes: int | None = None
    superseded_by: int | None = None
    surfaced: int = 0
    surfaced_at: datetime | None = None
    reason: str | None = field(default=None, repr=False)


@frozen
class Claim:
    """A candidate that waits for review, beside what it would take the place of.

    Attributes:
        candidate: What is claimed; its `uses` say how often, its `reason` why it waits.
        active: What stands at its id now, or None.
        version: What tells this state of the id from any other; a review of it can insist on it.
    """

    candidate: Assertion
    active: Assertion | None
    version: str


@frozen
class Reviewed:
    """What became of one claim of several that were reviewed.

    Attributes:
        id: Its id.
        tier: Its tier.
        outcome: `promoted`, `rejected`, `no_candidate`, or `conflict`: what waits or stands there has changed.
        candidate: What waited there, or None.
        active: What stood there before, or None.
    """

    id: str
    tier: str
    outcome: Literal["promoted", "rejected", "no_candidate", "conflict"]
    candidate: Assertion | None
    active: Assertion | None


@frozen
class Conflict:
    """Two active memories of one tier that say almost the same.

    Attributes:
        a: The one with the lower id.
        b: The other one.
        similarity: Their cosine.
    """

    a: Assertion
    b: Assertion
    similarity: float


@frozen
class MemoryStats:
    """What a scope holds in the tiers that are searched.

    Attributes:
        by_tier: Active memories by tier.
        by_status: Memories by status.
        pending_review: How many wait for review.
        never_surfaced: How many active ones no recall has shown yet.
    """

    by_tier: dict[str, int]
    by_status: dict[str, int]
    pending_review: int
    never_surfaced: int


class Assertions(list[Assertion]):
    """A bounded list of assertions, which says whether there are more.

    Attributes:
        truncated: Whether the bound left some out.
    """

    def __init__(self, found: Iterable[Assertion] = (), *, truncated: bool = False) -> None:
        super().__init__(found)
        self.truncated = truncated


@define(kw_only=True)
class RecalledMemory(MemoryRecord):
    """A hit of a recall: the memory, its score, and what made it.

    Attributes:
        score: What hits are ordered by, unless a re-ranker says otherwise: in [0, 1] for working memory, elsewhere in
            [-1, 1] in mode `vector`, and in the other modes 0 or more, where only a rule for turns lifts it above 1.
        similarity: The cosine of query and memory in [-1, 1]; None where it isn't known: in working memory, which
            isn't searched, and for what only its words have found.
        why: What the score was made from, by name, see `docs/ranking.md`.
        before: Its neighbours before it, oldest first, as many as the recall's `window` asked for.
        after: Its neighbours after it, oldest first.
    """

    score: float
    similarity: float | None = None
    why: dict[str, float] = field(factory=dict)
    before: Sequence[MemoryRecord] = field(default=(), repr=False)
    after: Sequence[MemoryRecord] = field(default=(), repr=False)


@frozen
class Remembered:
    """What became of one item: where it stands, what happened, and whether its embedding was cut short.

    Attributes:
        id: The item's id, given or made from its text.
        tier: Its tier.
        scope: Its scope.
        outcome: What happened, see `Outcome`.
        cut: Whether only the beginning of the text fitted into the embedder.
        reason: Why it was sent to review by the gate, or None.
        deferred: Whether the embedder was out of reach: until a job has made the vector that it lacks, it is found by
            its words alone.
    """

    id: str
    tier: str
    scope: str | None
    outcome: Outcome
    cut: bool = False
    reason: str | None = None
    deferred: bool = False


class Hits(list[RecalledMemory]):
    """The hits of a recall, best first.

    Attributes:
        degraded: What had no part in them since it failed: `embedder`, `reranker` or `graph`; empty when all went well.
        reaches: What the question reached in the graph of each scope that was asked.
    """

    degraded: tuple[str, ...] = ()
    reaches: Sequence[Reach] = ()


Outcomes: TypeAlias = "list[Remembered]"
"""What became of each item of a batch, in their order."""


@frozen
class Page(Generic[T]):
    """A part of a listing; pass `cursor` to the same call for the next part, until it is None."""

    items: list[T]
    cursor: str | None


@frozen
class Reembedded:
    """What moving a namespace to another embedder did.

    Attributes:
        embedder: The id of the embedder that is in force now.
        memories: How many memories it embedded, superseded and waiting ones included.
        documents: How many documents that are no memories.
        removed: How many of both had vectors of other embedders, which are gone.
    """

    embedder: str
    memories: int
    documents: int
    removed: int


@frozen
class Stats:
    """What a namespace holds.

    Attributes:
        namespace: Its name.
        embedder: The id of the embedder that wrote it.
        dimensions: The length of its vectors.
        partitions: In how many partitions it lies.
        scopes: How many scopes hold a memory.
        memories: Active memories by tier.
        candidates: Memories that wait for review, by tier.
        superseded: Memories kept as history, by tier.
    """

    namespace: str
    embedder: str
    dimensions: int
    partitions: int
    scopes: int
    memories: dict[str, int]
    candidates: dict[str, int]
    superseded: dict[str, int]
