"""What every handle can do with the life of its memories: review, history, conflicts, and forgetting by rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from tiered_memory import clock
from tiered_memory.assertions import conflicts as conflicting
from tiered_memory.assertions import forget as forgetting
from tiered_memory.assertions import ledger, review
from tiered_memory.assertions import read as reading
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.surface import mark_surfaced
from tiered_memory.checks import check_count, check_cursor, check_id
from tiered_memory.engine.keys import Keyspace
from tiered_memory.errors import InvalidLimit, InvalidQuery, NotFound, UnknownTier
from tiered_memory.items import Assertion, Assertions, Claim, Conflict, MemoryStats, Page, Reviewed, Status
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, join, opened
from tiered_memory.remember import Changes, update
from tiered_memory.tiers.enabled import Tiers

_MOST = 500
"""How many assertions one call lists at the most."""


class _Bound:
    """Something that works in one scope through a runner."""

    _runner: Any
    _tiers: Tiers
    _scope: str | None

    def _searched(self, tier: str | None = None) -> list[Keeping]:
        """The tiers whose memories have a life: those that are searched, or the one that is named."""
        chosen = [each.keeping for each in self._tiers.chosen(tier) if not each.keeping.notes]
        if tier is not None and not chosen:
            raise UnknownTier(f"tier {tier!r} keeps notes, which are neither reviewed nor superseded")
        return chosen


class _ReviewOperations(_Bound):
    """The review queue of one scope."""

    @operation
    def pending(
        self,
        tier: str | None = None,
        *,
        source: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Plan[Page[Claim]]:
        """A page of what waits for review, tier by tier, the oldest first, beside what it would take the place of.

        Pass the page's `cursor` for the next one; None says that there is none.
        """
        keepings = self._searched(tier)
        check_count(limit, "limit", 1)
        check_cursor(cursor, "pending", r"\d+:\d*")
        return (yield from review.pending((yield from opened()), keepings, self._scope, source, limit, cursor))

    @operation
    def promote(self, id: str, tier: str, *, version: str | None = None) -> Plan[Assertion]:
        """Makes the newest candidate at an id the active memory; the other candidates there go.

        Args:
            id: Where it waits.
            tier: Its tier.
            version: The version of the claim that was looked at; promote only while that is what waits and stands.

        Returns:
            The memory that is active now.

        Raises:
            NoCandidate: Nothing waits there.
            ReviewConflict: Something else waits or stands there than was looked at.
        """
        reviewed = review.insist((yield from self._decide("promote", id, tier, version)))
        assert reviewed.candidate is not None
        return reviewed.candidate

    @operation
    def reject(self, id: str, tier: str, *, version: str | None = None) -> Plan[None]:
        """Drops all candidates at an id without a trace; what is active or superseded stays.

        Raises:
            NoCandidate: Nothing waits there.
            ReviewConflict: Something else waits or stands there than was looked at.
        """
        review.insist((yield from self._decide("reject", id, tier, version)))

    @operation
    def promote_many(self, claims: Iterable[Claim | tuple[str, str]]) -> Plan[Reviews]:
        """Promotes claims, each given as `pending` gave it, or as its id and tier; none holds up the others.

        A claim is promoted only while its version is what waits and stands there. Returns an outcome for each.
        """
        return (yield from self._decide_many("promote", claims))

    @operation
    def reject_many(self, claims: Iterable[Claim | tuple[str, str]]) -> Plan[Reviews]:
        """Rejects claims, as `promote_many` promotes them."""
        return (yield from self._decide_many("reject", claims))

    def _decide(self, verdict: review.Verdict, id: str, tier: str, version: str | None) -> Plan[Reviewed]:
        (keeping,) = self._searched(tier)
        check_id(id)
        keyspace = yield from opened()
        reviewed = yield from review.decide(keyspace, keeping, self._scope, verdict, id, version)
        yield from self._weave(keyspace, [reviewed])
        return reviewed

    def _weave(self, keyspace: Keyspace, reviewed: Iterable[Reviewed]) -> Plan[None]:
        """Tells the graph what was promoted."""
        if self._tiers.weaver is not None:
            promoted = [each for each in reviewed if each.outcome == "promoted"]
            yield from self._tiers.weaver.promoted(keyspace.of(self._scope), promoted)

    def _decide_many(self, verdict: review.Verdict, claims: Iterable[Claim | tuple[str, str]]) -> Plan[Reviews]:
        wanted = [
            (claim.candidate.id, claim.candidate.tier, claim.version) if isinstance(claim, Claim) else (*claim, None)
            for claim in claims
        ]
        chosen = [(self._searched(tier)[0], check_id(id), version) for id, tier, version in wanted]
        keyspace = yield from opened()
        deciding = [
            review.decide(keyspace, keeping, self._scope, verdict, id, version) for keeping, id, version in chosen
        ]
        reviewed = yield from join(deciding)
        yield from self._weave(keyspace, reviewed)
        return reviewed


class Review(_ReviewOperations, Blocking):
    """The review queue of one scope."""

    def __init__(self, handle: LifecycleOperations) -> None:
        self._runner, self._tiers, self._scope = handle._runner, handle._tiers, handle._scope


class AsyncReview(_ReviewOperations, NonBlocking):
    """The review queue of one scope, whose operations are awaited."""

    def __init__(self, handle: LifecycleOperations) -> None:
        self._runner, self._tiers, self._scope = handle._runner, handle._tiers, handle._scope


Reviews = list[Reviewed]
"""What became of each claim, in their order."""

Conflicts = list[Conflict]
"""Pairs of memories that say almost the same, the most similar first."""


class LifecycleOperations(_Bound):
    """History, conflicts, statistics and forgetting by rule, in one scope."""

    @operation
    def history(self, id: str, tier: str) -> Plan[Assertions]:
        """All that was and is claimed at an id: what stands and stood there, then what waits, each newest first."""
        (keeping,) = self._searched(tier)
        check_id(id)
        return Assertions((yield from reading.history((yield from opened()), keeping, self._scope, id)))

    @operation
    def recorded(self, id: str, tier: str) -> Plan[bool]:
        """Whether anything is claimed at an id, superseded and waiting claims included."""
        (keeping,) = self._searched(tier)
        check_id(id)
        return bool((yield from reading.history((yield from opened()), keeping, self._scope, id)))

    @operation
    def assertions(
        self,
        *,
        tier: str | None = None,
        under: str | None = None,
        term: str | None = None,
        statuses: Iterable[Status] = ("active",),
        source: str | None = None,
        top_k: int = _MOST,
    ) -> Plan[Assertions]:
        """The most confident assertions that match: by confidence, then id.

        Args:
            tier: Only those of this tier.
            under: Only those at this id, or at ids below it (`under` and a slash).
            term: Only those whose text has this part, upper and lower case alike.
            statuses: Only those of these statuses; none: nothing.
            source: Only those of exactly this source.
            top_k: How many at the most, 1 to 500; `truncated` of the answer says whether there are more.

        Raises:
            InvalidLimit: `top_k` is out of its range.
            InvalidQuery: A status is none of the three.
        """
        match = ledger.Match(statuses=ledger.check_statuses(statuses), under=under, term=term, source=source)
        keepings = self._searched(tier)
        if check_count(top_k, "top_k", 1) > _MOST:
            raise InvalidLimit(f"top_k={top_k} must be at most {_MOST}; narrow the search")
        return (yield from ledger.matching((yield from opened()), keepings, self._scope, match, top_k))

    @operation
    def conflicts(self, *, tier: str | None = None, threshold: float = 0.9, limit: int = 100) -> Plan[Conflicts]:
        """Pairs of active memories of one tier whose cosine is at least `threshold`, the most similar first.

        Found with the vectors that are stored, by comparing all pairs: the cost grows with the square of what a
        tier of the scope holds (10,000 memories take seconds). Pairs that `resolve` kept are left out.

        Raises:
            EmbeddingsUnavailable: Fewer than two memories have a vector.
            InvalidQuery: `threshold` or `limit` is out of its range.
        """
        keepings = self._searched(tier)
        check_count(limit, "limit", 1)
        least = conflicting.check_threshold(threshold)
        return (yield from conflicting.conflicts((yield from opened()), keepings, self._scope, least, limit))

    @operation
    def resolve(self, conflict: Conflict, keep: Literal["a", "b", "both"], *, text: str | None = None) -> Plan[None]:
        """Ends a conflict: keeps one of the two and forgets the other, or keeps both and never reports the pair again.

        The other one is forgotten as the conflict shows it; what says something else by now stays.

        Args:
            conflict: The pair, as `conflicts` gave it.
            keep: Which one stays.
            text: What the one that stays says from now on, where both are merged.

        Raises:
            InvalidQuery: `keep` is none of the three, or a text is given for both.
            NotFound: What is to be kept isn't there any more.
        """
        if keep not in ("a", "b", "both") or (keep == "both" and text is not None):
            raise InvalidQuery(f"keep={keep!r} must be 'a' or 'b', or 'both' without a text")
        tier = self._tiers[conflict.a.tier]
        keyspace = yield from opened()
        if keep == "both":
            return (yield from conflicting.settle(keyspace, tier.keeping, self._scope, conflict))
        kept, other = (conflict.a, conflict.b) if keep == "a" else (conflict.b, conflict.a)
        if (yield from reading.read(keyspace, tier.keeping, self._scope, kept.id)) is None:
            raise NotFound(f"nothing stands at id {kept.id!r} in tier {kept.tier!r} any more, so the other one stays")
        if text is not None:
            yield from update(self._tiers, tier, self._scope, kept.id, Changes(text=text))
        yield from forgetting.forget_these(keyspace, tier.keeping, self._scope, [other])
        return None

    @operation
    def mark_surfaced(self, ids: Sequence[str], tier: str) -> Plan[None]:
        """Marks the active memories at these ids as shown to someone now, as recalls do by themselves.

        Unknown ids are passed over.
        """
        (keeping,) = self._searched(tier)
        checked = [check_id(id) for id in ids]
        yield from mark_surfaced((yield from opened()), keeping, self._scope, checked)

    @operation
    def memory_stats(self) -> Plan[MemoryStats]:
        """How many memories this scope has by tier and status, wait for review, and were never surfaced; counted."""
        keepings = self._searched()
        counted = yield from reading.tallies((yield from opened()), keepings, self._scope)
        active, waiting, superseded, unseen = (sum(numbers) for numbers in zip(*counted, strict=True))
        return MemoryStats(
            by_tier={keeping.name: numbers[0] for keeping, numbers in zip(keepings, counted, strict=True)},
            by_status={"active": active, "candidate": waiting, "superseded": superseded},
            pending_review=waiting,
            never_surfaced=unseen,
        )

    @operation
    def forget_where(
        self,
        *,
        tier: str | None = None,
        source: str | None = None,
        before: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        dry_run: bool = False,
    ) -> Plan[int]:
        """Forgets the active memories, with their history, and the waiting ones that match all that is given.

        Args:
            tier: Those of this tier; None: of all tiers that are searched.
            source: Those of exactly this source.
            before: Those that happened before this aware time.
            metadata: Those whose metadata has these names and values.
            dry_run: Whether to count only.

        Returns:
            How many memories that were, or would be.

        Raises:
            InvalidQuery: Nothing narrows it; use `clear` to forget all.
        """
        if source is None and before is None and metadata is None:
            raise InvalidQuery("forget_where needs a source, a time or metadata; use clear() to forget everything")
        match = ledger.Match(
            statuses=frozenset(("active", "candidate")),
            source=source,
            before=None if before is None else clock.utc(before, "before"),
            metadata=None if metadata is None else dict(metadata),
        )
        keepings = self._searched(tier)
        keyspace = yield from opened()
        total = 0
        for keeping in keepings:
            found = yield from ledger.every(keyspace, keeping, self._scope, match)
            if dry_run:
                total += len(found)
            else:
                total += yield from forgetting.forget_these(keyspace, keeping, self._scope, found)
        return total

    @operation
    def prune_history(self, *, tier: str | None = None, keep: int = 0, older_than: datetime | None = None) -> Plan[int]:
        """Drops superseded memories: all but the `keep` newest at each id, and only those superseded before a time.

        Returns how many were dropped.
        """
        keepings = self._searched(tier)
        check_count(keep, "keep", 0)
        before = None if older_than is None else clock.to_micros(clock.utc(older_than, "older_than"))
        keyspace = yield from opened()
        total = 0
        for keeping in keepings:
            total += yield from ledger.prune(keyspace, keeping, self._scope, keep, before)
        return total
