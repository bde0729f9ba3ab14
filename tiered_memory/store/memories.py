"""Memories in the tree: remembering, recalling and reviewing what documents below `viking://user/memories` show."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions import conflicts as conflicting
from tiered_memory.assertions import forget as forgetting
from tiered_memory.assertions import read as reading
from tiered_memory.assertions import review
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.ledger import check_statuses
from tiered_memory.assertions.surface import marking
from tiered_memory.checks import check_count, check_source
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import (
    InvalidLimit,
    InvalidMemoryType,
    NoMemory,
    NotAMemoryURI,
)
from tiered_memory.items import Assertion, Assertions, Conflict, MemoryItem, Remembered, Reviewed, Status
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask, opened
from tiered_memory.store import beliefs
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import JobRequest, check_jobs, content_hash
from tiered_memory.store.memory_uris import MEMORIES, memory_type
from tiered_memory.store.nodes import fenced
from tiered_memory.store.tree import address
from tiered_memory.store.uri import Uri, parse

MAX_TOP_K = 500
"""The most memories that one recall answers with."""

Conflicts: TypeAlias = "list[Conflict]"


@frozen
class MemoryCounts:
    """How many memories a tree shows.

    Attributes:
        by_type: Active memories by type; of a type that has none there is no number.
        by_status: Memories by status.
        pending_review: How many wait for review.
        never_surfaced: How many active ones were never shown to anyone.
    """

    by_type: dict[str, int]
    by_status: dict[Status, int]
    pending_review: int
    never_surfaced: int


class MemoryOperations(Bound):
    """The memories of one scope whose ids are URIs below `viking://user/memories` and a type.

    They are memories of their type's tier like any other: what is remembered, recalled, reviewed, updated or forgotten
    in that tier is seen here, and the other way round.
    """

    @operation
    def put(
        self,
        uri: str,
        value: str,
        confidence: float = 0.5,
        source: str | None = None,
        *,
        importance: float = 0.5,
        status: Literal["active", "candidate"] = "active",
        jobs: Iterable[JobRequest] = (),
    ) -> Plan[Remembered]:
        """Remembers `value` at a URI, with its document and its jobs, in one step.

        The value is embedded at once, so that no job needs to do it, unless the configuration defers that while the
        embedder is out of reach. The same value as the one that is active there
        counts as another use of it; nothing else changes, and no job is enqueued.

        Args:
            uri: Where, `viking://user/memories/TYPE/NAME`, or deeper.
            value: What is believed.
            confidence: How sure the source is, in [0, 1].
            source: Who says so.
            importance: How much it matters, in [0, 1].
            status: `active`, or `candidate` to wait for review; the gate may send it there, too.
            jobs: What must be done for it, as pairs of kind and payload; `uri` and `content_hash` are filled in.

        Raises:
            InvalidURI: The URI isn't one.
            NotAMemoryURI: It isn't one of a memory.
            InvalidMemoryType: The configuration has no such type.
            InvalidItem: The value is blank, or the confidence or the importance isn't in [0, 1].
            InvalidPayload: A job's payload can't be kept as JSON.
            KindConflict: A document that is no memory stands there.
            EmbeddingError: The embedder failed, and that isn't deferred. After any of these, nothing was written.
        """
        from tiered_memory.remember import remember  # which imports the tree, and so this module

        parsed, keeping = self._place(uri)
        item = MemoryItem(
            value, keeping.name, id=parsed, scope=self._scope, confidence=confidence, importance=importance,
            source=source, status=status,
        )  # fmt: skip
        work = [fenced(job, parsed, content_hash(value)) for job in check_jobs(jobs)]
        (remembered,) = yield from remember(self._tiers, [item], lambda each: each.scope, work)
        return remembered

    @operation
    def recall(
        self,
        prefix: str = MEMORIES,
        term: str | None = None,
        statuses: Iterable[Status] = ("active",),
        *,
        top_k: int = MAX_TOP_K,
        source: str | None = None,
    ) -> Plan[Assertions]:
        """The memories at or below a URI, by confidence, then URI, then number.

        With a term those that have it in their text, or where none has, those that share a word with it; by
        0.5 confidence + 0.5 (cosine + 1) / 2 + 0.15 if the text has the term - 0.1 staleness, then as above. Stale
        is what was not shown for thirty days. When the embedder fails they are in the order of confidence. What is
        found with a term counts as shown.

        Args:
            prefix: Where.
            term: A substring, upper and lower case alike.
            statuses: Only those of these statuses; none: nothing.
            top_k: How many at the most, 1 to 500; `truncated` of the answer says whether there are more.
            source: Only those of exactly this source.

        Raises:
            InvalidURI: `prefix` isn't a URI.
            InvalidLimit: `top_k` is out of its range.
            InvalidQuery: A status is none of the three.
        """
        under, chosen, said_by = parse(prefix), check_statuses(statuses), check_source(source)
        if check_count(top_k, "top_k", 1) > MAX_TOP_K:
            raise InvalidLimit(f"top_k={top_k} must be at most {MAX_TOP_K}; narrow the recall")
        keyspace = yield from opened()
        wanted = beliefs.Wanted(keyspace, self._scope, under, chosen, said_by)
        if term is None or not term.strip():
            return (yield from beliefs.most_confident(wanted, term or "", top_k))
        found = yield from beliefs.fitting(wanted, term)
        best = Assertions(found[:top_k], truncated=len(found) > top_k)
        if best:
            yield marking(keyspace, self._keepings, best)
        return best

    @operation
    def promote(self, uri: str) -> Plan[Assertion]:
        """Makes the newest candidate at a URI the active memory, which its document shows; the others there go.

        It was embedded when it was put, so that no job is needed. Raises `NoCandidate`, and what `put` raises for a
        URI.
        """
        reviewed: Reviewed = yield from self._decide("promote", uri)
        assert reviewed.candidate is not None
        return reviewed.candidate

    @operation
    def reject(self, uri: str) -> Plan[None]:
        """Drops all candidates at a URI without a trace; what is active or superseded stays, and all below.

        The document goes if nothing else is remembered there. Raises `NoCandidate`, and what `put` raises for a URI.
        """
        yield from self._decide("reject", uri)

    @operation
    def forget(self, uri: str) -> Plan[int]:
        """Forgets what is remembered at exactly this URI, history and candidates too; how many memories that were.

        What lies below stays. Raises `NoMemory`, and what `put` raises for a URI.
        """
        parsed, keeping = self._place(uri)
        forgotten = yield from forgetting.forget((yield from opened()), keeping, self._scope, parsed)
        if not forgotten:
            raise NoMemory(f"nothing is remembered at {parsed!r}")
        return forgotten

    @operation
    def recorded(self, uri: str) -> Plan[bool]:
        """Whether anything is remembered at exactly this URI, superseded and waiting memories included.

        Raises what `put` raises for a URI.
        """
        parsed, keeping = self._place(uri)
        return bool((yield from reading.history((yield from opened()), keeping, self._scope, parsed)))

    @operation
    def stats(self) -> Plan[MemoryCounts]:
        """How many memories the tree shows, by type and status; counted as they change, not looked through."""
        keys = yield from self._keys()
        arguments = (clock.now_micros(), *address(keys))
        (reply,) = yield from ask(call("memories_stats", keys.scopes, arguments))
        counted: dict[str, dict[str, int]] = {}
        for name, number in pairs(reply).items():
            kind, _, status = text(name).partition(":")
            counted.setdefault(status, {})[kind] = int(number)
        totals = {status: sum(numbers.values()) for status, numbers in counted.items()}
        active, waiting = totals.get("active", 0), totals.get("candidate", 0)
        by_status: dict[Status, int] = {
            "active": active, "candidate": waiting, "superseded": totals.get("superseded", 0),
        }  # fmt: skip
        return MemoryCounts(counted.get("active", {}), by_status, waiting, active - totals.get("surfaced", 0))

    @operation
    def conflicts(self, prefix: str = MEMORIES, *, threshold: float = 0.9) -> Plan[Conflicts]:
        """Pairs of active memories of one type at or below a URI that say almost the same, the most similar first.

        Found with the vectors that are stored, by comparing all pairs, see the handle's own `conflicts`. `a` is the
        one with the lower URI. Pairs that `resolve` kept are left out.

        Raises:
            InvalidURI: `prefix` isn't a URI.
            InvalidQuery: `threshold` is out of its range.
            EmbeddingsUnavailable: Fewer than two memories have a vector.
        """
        under, least = parse(prefix), conflicting.check_threshold(threshold)
        wanted = beliefs.Wanted((yield from opened()), self._scope, under, frozenset(("active",)))
        return (yield from beliefs.alike(wanted, self._keepings, least))

    @operation
    def mark_surfaced(self, ids: Iterable[int]) -> Plan[None]:
        """Marks memories, given by their numbers and whatever their status, as shown to someone now.

        Unknown numbers are passed over.
        """
        numbers = [check_count(number, "id", 0) for number in ids]
        if not numbers:
            return
        keys = yield from self._keys()
        keepings = [keeping for keeping in self._keepings.values() if keeping.types]
        arguments: list[str | int] = [clock.now_micros(), keys.member, len(keepings)]
        for keeping in keepings:
            arguments += [*keeping.address(keys), keeping.half_life if keeping.is_bounded else ""]
        yield from ask(call("memories_surface", keys.scopes, [*arguments, *numbers]), repeatable=False)

    @property
    def _keepings(self) -> dict[str, Keeping]:
        return {tier.name: tier.keeping for tier in self._tiers if not tier.keeping.notes}

    def _place(self, uri: str) -> tuple[Uri, Keeping]:
        """A memory's URI as a value, and how its tier keeps it."""
        parsed = parse(uri)
        kind, types = memory_type(parsed), self._tiers.memory_types
        if kind is None:
            raise NotAMemoryURI(f"uri={uri!r} isn't one of a memory, such as '{MEMORIES}/events/a'")
        if kind not in types:
            raise InvalidMemoryType(f"type {kind!r} of {uri!r} is none of {', '.join(types)}")
        return parsed, self._tiers[types[kind]].keeping

    def _decide(self, verdict: review.Verdict, uri: str) -> Plan[Reviewed]:
        parsed, keeping = self._place(uri)
        decided = yield from review.decide((yield from opened()), keeping, self._scope, verdict, parsed, None)
        if decided.outcome == "promoted" and self._tiers.weaver is not None:
            yield from self._tiers.weaver.promoted((yield from self._keys()), [decided])
        return review.insist(decided)


class Memories(MemoryOperations, Blocking):
    """The memories of one scope that its tree shows."""


class AsyncMemories(MemoryOperations, NonBlocking):
    """The memories of one scope that its tree shows."""
