"""Two times of a graph: when facts held in the world, and when we knew of them."""

from __future__ import annotations

from datetime import datetime

from attrs import frozen

from tiered_memory import clock


@frozen
class Times:
    """Which facts are looked at, in microseconds since 1970.

    Attributes:
        from_most: The latest time from which a fact may hold.
        to_least: The time that its end must lie beyond.
        known_by: When it, its entities and its end had to be known.
    """

    from_most: float
    to_least: float
    known_by: float

    @property
    def present(self) -> bool:
        """Whether no fact is looked at that had ended when it was closed."""
        return self.from_most == self.known_by == float("inf")

    @classmethod
    def of(cls, as_of: int | None) -> Times:
        """The facts that hold now, or held at a moment, in microseconds since 1970."""
        return cls.at(None if as_of is None else clock.from_micros(as_of), None)

    @classmethod
    def at(cls, as_of: datetime | None, known_at: datetime | None) -> Times:
        """The facts that held at `as_of`, as known at `known_at`.

        Without `as_of`: what hasn't ended by the time at which we look. Without `known_at`: as known now.
        """
        known_by = float("inf") if known_at is None else clock.to_micros(clock.utc(known_at, "known_at"))
        if as_of is not None:
            moment = clock.to_micros(clock.utc(as_of, "as_of"))
            return cls(moment, moment, known_by)
        return cls(float("inf"), clock.now_micros() if known_at is None else known_by, known_by)
