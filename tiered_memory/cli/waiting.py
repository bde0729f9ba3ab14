"""What waits for review, id by id: the newest claim at each, on which a review decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from attrs import frozen
from rich.console import RenderableType

from tiered_memory.cli.options import Handle
from tiered_memory.cli.output import Answer
from tiered_memory.errors import NoCandidate
from tiered_memory.items import Claim, Reviewed

Verdict: TypeAlias = Literal["promote", "reject"]

_STEP = 200
"""How many claims are read, or decided on, in one round trip."""


@frozen
class Waiting:
    """What waits at one id.

    Attributes:
        claim: The newest claim there.
        others: How many older claims go with it, whichever way it is decided.
    """

    claim: Claim
    others: int


def waiting(handle: Handle, tier: str | None, source: str | None = None) -> list[Waiting]:
    """What waits in a tier, or in all of them; of a source, where the newest claim is its."""
    claims: dict[tuple[str, str], list[Claim]] = {}
    for claim in _all(handle, tier):
        claims.setdefault((claim.candidate.tier, claim.candidate.id), []).append(claim)
    found = [Waiting(at_one_id[-1], len(at_one_id) - 1) for at_one_id in claims.values()]
    return [each for each in found if source is None or each.claim.candidate.source == source]


def waiting_at(handle: Handle, id: str, tier: str) -> Waiting:
    """What waits at an id; raises `NoCandidate`."""
    for each in waiting(handle, tier):
        if each.claim.candidate.id == id:
            return each
    raise NoCandidate(f"nothing waits for review at id {id!r} in tier {tier!r}")


def decide(handle: Handle, verdict: Verdict, claims: Sequence[Claim]) -> list[Reviewed]:
    """Promotes or rejects claims as they were looked at; what became of each."""
    review = handle.review
    many = review.promote_many if verdict == "promote" else review.reject_many
    return [each for start in range(0, len(claims), _STEP) for each in many(claims[start : start + _STEP])]


def answer(reviewed: Sequence[Reviewed], shown: RenderableType) -> Answer:
    """What became of each claim; the exit code is 1 when one had changed meanwhile."""
    data = {"reviewed": [{"id": each.id, "tier": each.tier, "outcome": each.outcome} for each in reviewed]}
    return Answer(data, shown, int(any(each.outcome == "conflict" for each in reviewed)))


def _all(handle: Handle, tier: str | None) -> Iterator[Claim]:
    cursor = None
    while True:
        page = handle.review.pending(tier, limit=_STEP, cursor=cursor)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return
