"""What the tests of the lifecycle say often: facts, claims that wait, and what became of an id."""

from __future__ import annotations

from typing import Any

from tiered_memory import MemoryItem


def fact(text: str, id: str | None = "x", tier: str = "semantic", **more: Any) -> MemoryItem:
    """An item that is to be believed at once."""
    return MemoryItem(text, tier, id=id, **more)


def claim(text: str, id: str | None = "x", tier: str = "semantic", **more: Any) -> MemoryItem:
    """An item that is to wait for review."""
    return MemoryItem(text, tier, id=id, status="candidate", **more)


def life(handle: Any, id: str = "x", tier: str = "semantic") -> list[tuple[str, str]]:
    """The text and status of all that was and is claimed at an id, in the order of its history."""
    return [(each.text, each.status) for each in handle.history(id, tier)]


def waiting(handle: Any, **which: Any) -> list[str]:
    """The texts that wait for review, in their order."""
    return [each.candidate.text for each in handle.review.pending(**which).items]


def outcomes(answers: Any) -> list[str]:
    """What happened to each of several items or claims."""
    return [each.outcome for each in answers]
