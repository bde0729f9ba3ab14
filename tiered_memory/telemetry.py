"""A span for each operation, where OpenTelemetry is set up: counts, the scope's token, how long; never a text."""

from __future__ import annotations

from collections.abc import Sized
from functools import cache
from typing import Any, TypeVar

from tiered_memory.plan import Plan
from tiered_memory.scope import digest

T = TypeVar("T")


@cache
def _trace() -> Any:
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace


def is_on() -> bool:
    """Whether the process has set up OpenTelemetry, so that someone listens."""
    trace = _trace()
    return trace is not None and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def traced(operation: str, handle: Any, plan: Plan[T]) -> Plan[T]:
    """`plan` itself, within a span that is named for the operation.

    Attributes: `tiered_memory.scope` (the token of the handle's scope), `tiered_memory.count` (how many things
    came back) and, when it failed, `error.type` (our stable code, or the exception's class).
    """
    trace = _trace()
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
