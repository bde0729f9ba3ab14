"""How a tier keeps what it is given, as the scripts are told."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import field, frozen
from attrs.validators import matches_re

from tiered_memory.engine.keys import ScopeKeys

UNBOUNDED = 2**53

RETENTION_HALF_LIFE = 30 * 24 * 3600 * 10**6
"""The half-life of retention: thirty days, in microseconds."""


@frozen(kw_only=True, cache_hash=True)
class Keeping:
    """What remembering does in a tier.

    Attributes:
        name: The tier's name: lower case letters, digits and `_`.
        notes: Notes are volatile, listed, and overwritten; records are indexed, searched, and superseded.
        refreshes: Whether remembering the same text again moves its time to now.
        carries: Whether a new text at an id takes over how often the old one was remembered.
        most: How many memories a scope keeps: of notes the newest, of records those with the highest retention.
        half_life: Microseconds without use after which a record's retention has halved.
        idle: After how many milliseconds without a new note a scope's notes are dropped; 0: never.
        types: The types of memories that it keeps whose ids are URIs.
    """

    name: str = field(validator=matches_re("[a-z][a-z0-9_]*"))
    notes: bool = False
    refreshes: bool = False
    carries: bool = False
    most: int = UNBOUNDED
    idle: int = 0
    half_life: int = RETENTION_HALF_LIFE
    types: frozenset[str] = frozenset()

    @property
    def is_bounded(self) -> bool:
        """Whether something may have to give way."""
        return self.most < UNBOUNDED

    def address(self, scope: ScopeKeys) -> tuple[str, str, str]:
        """What scripts need to find the tier of a scope."""
        return (scope.token(self.name), self.name, "notes" if self.notes else "records")

    @property
    def rules(self) -> str:
        """What scripts need to know about remembering in it."""
        return ("r" if self.refreshes else "") + ("c" if self.carries else "")


def addresses(keepings: Iterable[Keeping], scope: ScopeKeys) -> list[str]:
    """What scripts need to find several tiers of a scope, one after the other."""
    return [part for keeping in keepings for part in keeping.address(scope)]
