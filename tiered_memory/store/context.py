"""The newest messages of a session that fit into a budget of tokens, and a summary of those that don't."""

from __future__ import annotations

from collections.abc import Callable
from inspect import isawaitable, iscoroutine
from typing import Any, TypeAlias

from attrs import field, frozen

from tiered_memory.errors import ConfigError, StoreError
from tiered_memory.plan import Plan, call
from tiered_memory.store.messages import Message, transcript
from tiered_memory.store.session_log import SessionLog
from tiered_memory.tokens import TokenCounter

Summarise: TypeAlias = Callable[[str], Any]
"""Makes a shorter text of a long one; it may block, or be async where the caller awaits."""

SUMMARY_SHARE = 0.25
"""The share of the budget that is set aside for a summary, when not everything fits."""

MOST_SUMMARISED = 1000
"""How many of the messages that don't fit are summarised, the newest."""

_STEP = 100
"""How many messages are read at a time."""


@frozen
class SessionContext:
    """What a model is given of a session.

    Attributes:
        messages: The newest messages that fit, the oldest of them first; none is passed over in between.
        summary: What came before them in short, or None without a summariser, or when nothing did.
        left_out: How many older messages did not fit.
        tokens: How many tokens messages and summary have, each message counted as the line `role: content`.
    """

    messages: list[Message]
    summary: str | None = field(repr=False)
    left_out: int
    tokens: int


def session_context(
    log: SessionLog, id: str, max_tokens: int, summarise: Summarise | None, counter: TokenCounter
) -> Plan[SessionContext]:
    """The context of a session, which has at most `max_tokens` tokens."""
    length, newest = yield from _newest(log, id, max_tokens, counter)
    tokens = sum(counted for _, counted in newest)
    if len(newest) == length or summarise is None:
        return SessionContext([message for message, _ in newest], None, length - len(newest), tokens)
    share = int(max_tokens * SUMMARY_SHARE)
    while newest and tokens > max_tokens - share:
        _, counted = newest.pop(0)
        tokens -= counted
    left_out = length - len(newest)
    start = max(0, left_out - MOST_SUMMARISED)
    _, older = yield from log.read(id, start, left_out - start)
    summary = yield from call(counter.cut, (yield from summarised(summarise, transcript(older))), share)
    return SessionContext([message for message, _ in newest], summary, left_out, tokens + counter.count(summary))


def _newest(
    log: SessionLog, id: str, budget: int, counter: TokenCounter
) -> Plan[tuple[int, list[tuple[Message, int]]]]:
    """How many messages a session has, and the newest that fit, each with its tokens, read from the end on."""
    length, part = yield from log.read(id, None, _STEP)
    fitting: list[tuple[Message, int]] = []
    while part:
        counts = yield from call(lambda: [counter.count(f"{message.line}\n") for message in part])  # noqa: B023
        for message, counted in zip(reversed(part), reversed(counts), strict=True):
            if counted > budget:
                return length, fitting[::-1]
            budget -= counted
            fitting.append((message, counted))
        before = part[0].seq
        start = max(0, before - _STEP)
        _, part = yield from log.read(id, start, before - start)
    return length, fitting[::-1]


def summarised(summarise: Summarise, text: str) -> Plan[str]:
    """What a summariser makes of a text; raises `StoreError` when it fails, `ConfigError` when it can't be awaited."""
    try:
        summary = yield from call(summarise, text)
    except Exception as error:
        raise StoreError(f"the summariser failed: {type(error).__name__}") from error
    if isawaitable(summary):
        if iscoroutine(summary):
            summary.close()
        raise ConfigError("the summariser is async; it needs an async handle")
    if not isinstance(summary, str):
        raise StoreError(f"the summariser gave {type(summary).__name__}; it must give a str")
    return summary
