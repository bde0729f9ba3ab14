"""What a handler of jobs is, and what it may raise."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeAlias

from tiered_memory.checks import check_id
from tiered_memory.errors import InvalidItem
from tiered_memory.plan import Plan
from tiered_memory.store.queue import Job, check_delay, check_reason

Handler: TypeAlias = Callable[[Job], Any]
"""Does a job; it may block, or be async where the caller awaits. What it returns is of no concern."""

JobPlan: TypeAlias = "Callable[[Job], Plan[None]]"
"""What is done with a job of a kind that is known here; it may have completed it."""


class DeferJob(Exception):
    """Raised by a handler whose job must wait for something: it is put off without spending an attempt."""

    def __init__(self, delay_ms: int = 1000) -> None:
        super().__init__(f"put off by {delay_ms} ms")
        self.delay: timedelta = check_delay(delay_ms)


class FailJob(Exception):
    """Raised by a handler whose job fails: for a reason that names a kind of failure, for good without `again`."""

    def __init__(self, reason: str, *, again: bool = True) -> None:
        super().__init__(check_reason(reason))
        self.reason, self.again = reason, again


def memories_of(job: Job) -> tuple[str, list[str]]:
    """The tier and the ids that a job names; raises `FailJob` where it doesn't."""
    try:
        tier, ids = job.payload["tier"], [check_id(id) for id in job.payload["ids"]]
    except (KeyError, TypeError, InvalidItem):
        raise FailJob("invalid_payload", again=False) from None
    if not isinstance(tier, str):
        raise FailJob("invalid_payload", again=False)
    return tier, ids
