"""Looking over all assertions of a tier: those that match, those that conflict, and what to forget of them."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, get_args

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import page
from tiered_memory.assertions.review import pending
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call
from tiered_memory.errors import InvalidQuery
from tiered_memory.items import Assertion, Assertions, Status
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest

_STEP = 500
"""How many ids are read at a time."""


@frozen(kw_only=True)
class Match:
    """Which assertions are meant; what isn't given matches all.

    Attributes:
        statuses: Their statuses.
        under: Their id, or a URI above it.
        term: A part of their text, upper and lower case alike.
        source: Who said so, exactly.
        before: They happened before this aware time.
        metadata: Names and values that their metadata has.
    """

    statuses: frozenset[Status] = frozenset(("active",))
    under: str | None = None
    term: str | None = None
    source: str | None = None
    before: datetime | None = None
    metadata: dict[str, Any] | None = None

    def fits(self, each: Assertion) -> bool:
        """Whether an assertion is meant."""
        return (
            each.status in self.statuses
            and (self.under is None or each.id == self.under or each.id.startswith(self.under.rstrip("/") + "/"))
            and (self.term is None or self.term.casefold() in each.text.casefold())
            and (self.source is None or each.source == self.source)
            and (self.before is None or each.at < self.before)
            and (self.metadata is None or self.metadata.items() <= each.metadata.items())
        )


def check_statuses(statuses: Iterable[Status]) -> frozenset[Status]:
    """`statuses` as a set; raises `InvalidQuery` for one that is none."""
    known: tuple[Status, ...] = get_args(Status)
    wanted = [statuses] if isinstance(statuses, str) else list(statuses)
    for status in wanted:
        if status not in known:
            raise InvalidQuery(f"status {status!r} is none of {', '.join(known)}")
    return frozenset(wanted)  # type: ignore[arg-type]


def matching(
    keyspace: Keyspace, keepings: Sequence[Keeping], scope: str | None, match: Match, top_k: int
) -> Plan[Assertions]:
    """The `top_k` most confident matches: by confidence, then id, then number."""
    best: list[Assertion] = []

    def keep_best(found: Iterable[Assertion]) -> None:
        best[:] = heapq.nsmallest(top_k + 1, [*best, *filter(match.fits, found)], key=_by_confidence)

    for keeping in keepings:
        yield from _scan(keyspace, keeping, scope, match.statuses, keep_best)
    return Assertions(best[:top_k], truncated=len(best) > top_k)


def every(keyspace: Keyspace, keeping: Keeping, scope: str | None, match: Match) -> Plan[list[Assertion]]:
    """All matches."""
    found: list[Assertion] = []
    yield from _scan(keyspace, keeping, scope, match.statuses, lambda part: found.extend(filter(match.fits, part)))
    return found


def prune(keyspace: Keyspace, keeping: Keeping, scope: str | None, keep: int, before: int | None) -> Plan[int]:
    """Drops superseded ones but the `keep` newest at each id, and those superseded since `before` (µs); how many."""
    keys = keyspace.of(scope)
    dropped = 0
    cursor: str | None = None
    while True:
        part = yield from page(keyspace, keeping, scope, _STEP, cursor)
        now = clock.now_micros()
        arguments = (now, keys.member, *keeping.address(keys), keep, "" if before is None else before)
        digests = [digest(each.id) for each in part.items]
        (count,) = yield from ask(call("prune", keys.scopes, (*arguments, *digests)))
        dropped += int(count)
        cursor = part.cursor
        if cursor is None:
            return dropped


def _by_confidence(each: Assertion) -> tuple[float, str, int]:
    return (-each.confidence, each.id, each.number)


def _scan(
    keyspace: Keyspace,
    keeping: Keeping,
    scope: str | None,
    statuses: frozenset[Status],
    visit: Callable[[Iterable[Assertion]], None],
) -> Plan[None]:
    """Reads all assertions of these statuses, part by part."""
    history = "superseded" in statuses
    cursor: str | None = None
    while statuses & {"active", "superseded"}:
        part = yield from page(keyspace, keeping, scope, _STEP, cursor, history=history)
        visit(each for each in part.items if isinstance(each, Assertion))
        cursor = part.cursor
        if cursor is None:
            break
    while "candidate" in statuses:
        claims = yield from pending(keyspace, [keeping], scope, None, _STEP, cursor)
        visit(claim.candidate for claim in claims.items)
        cursor = claims.cursor
        if cursor is None:
            break
