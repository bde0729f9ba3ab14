"""A span for each operation, where OpenTelemetry is installed: counts, the scope's token, how long; never a text."""

from __future__ import annotations

from collections.abc import Sized
from functools import cache
from importlib.util import find_spec
from typing import Any, TypeVar

from tiered_memory.plan import Plan
from tiered_memory.scope import digest

T = TypeVar("T")


@cache
def is_installed() -> bool:
    """Whether there is anything to report to."""
    return find_spec("opentelemetry") is not None


def traced(operation: str, handle: Any, plan: Plan[T]) -> Plan[T]:
    """`plan` itself, within a span that is named for the operation.

    Attributes: `tiered_memory.scope` (the token of the handle's scope), `tiered_memory.count` (how many things
    came back) and, when it failed, `error.type` (our stable code, or the exception's class).
    """
    from opentelemetry import trace

    tracer = trace.get_tracer("tiered_memory")
    name = f"tiered_memory.{operation}"
    # an exception's message may quote an id or a scope, so only its kind is recorded
    with tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
        span.set_attribute("tiered_memory.scope", digest(getattr(handle, "_scope", None)))
        try:
            result = yield from plan
        except Exception as error:
            span.set_attribute("error.type", getattr(error, "code", type(error).__name__))
            span.set_status(trace.StatusCode.ERROR)
            raise
        if isinstance(result, int | Sized) and not isinstance(result, bool | str):
            span.set_attribute("tiered_memory.count", result if isinstance(result, int) else len(result))
        return result
