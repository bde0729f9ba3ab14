"""The review queue: what waits, and promoting or rejecting it, each a single script over one id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tiered_memory import clock
from tiered_memory.assertions.fields import assertion, is_of
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import NoCandidate, ReviewConflict
from tiered_memory.items import Assertion, Claim, Page, Reviewed
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest

Verdict = Literal["promote", "reject"]


def pending(
    keyspace: Keyspace,
    keepings: Sequence[Keeping],
    scope: str | None,
    source: str | None,
    limit: int,
    cursor: str | None,
) -> Plan[Page[Claim]]:
    """Up to `limit` claims that wait in these tiers, tier by tier, the oldest first."""
    number, _, after = (cursor or "0:").partition(":")
    place = int(number)
    claims: list[Claim] = []
    while place < len(keepings) and len(claims) < limit:
        part = yield from _pending(keyspace, keepings[place], scope, limit - len(claims), after)
        claims += [claim for claim in part.items if source is None or claim.candidate.source == source]
        after = part.cursor or ""
        place += not after
    return Page(claims, f"{place}:{after}" if place < len(keepings) else None)


def _pending(keyspace: Keyspace, keeping: Keeping, scope: str | None, limit: int, after: str) -> Plan[Page[Claim]]:
    keys = keyspace.of(scope)
    arguments = (clock.now_micros(), *keeping.address(keys), after, limit)
    ((following, found),) = yield from ask(call("pending", keys.scopes, arguments))
    claims = [
        Claim(candidate, _assertion(keeping, keys, active, its), text(version))
        for number, fields, version, active, its in found
        if (candidate := _assertion(keeping, keys, number, fields)) is not None
    ]
    return Page(claims, text(following) or None)


def decide(
    keyspace: Keyspace, keeping: Keeping, scope: str | None, verdict: Verdict, id: str, version: str | None
) -> Plan[Reviewed]:
    """Promotes or rejects what waits at an id; with a `version`, only while that is what waits and stands there."""
    keys = keyspace.of(scope)
    rules = (keeping.most, keeping.half_life, keeping.rules) if verdict == "promote" else ()
    arguments = (clock.now_micros(), keys.member, *keeping.address(keys), *rules, digest(id), version or "")
    ((outcome, newer, its, older, older_fields),) = yield from ask(
        call(verdict, keys.scopes, arguments), repeatable=False
    )
    candidate = _assertion(keeping, keys, newer, its)
    return Reviewed(id, keeping.name, text(outcome), candidate, _assertion(keeping, keys, older, older_fields))  # type: ignore[arg-type]


def insist(reviewed: Reviewed) -> Reviewed:
    """`reviewed` itself; raises `NoCandidate` or `ReviewConflict` where nothing was done."""
    where = f"id {reviewed.id!r} in tier {reviewed.tier!r}"
    if reviewed.outcome == "no_candidate":
        raise NoCandidate(f"nothing waits for review at {where}")
    if reviewed.outcome == "conflict":
        raise ReviewConflict(f"what waits or stands at {where} isn't what was reviewed; look again, then decide")
    return reviewed


def _assertion(keeping: Keeping, keys: ScopeKeys, number: bytes, reply: object) -> Assertion | None:
    fields = pairs(reply)
    return assertion(fields, keeping.name, number) if fields and is_of(fields, keys) else None
