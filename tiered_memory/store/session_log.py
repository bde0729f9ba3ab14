"""Sessions as they lie in Redis: each change is one script."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import CorruptRecord, SessionConflict, SessionNotFound
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask
from tiered_memory.store.messages import Message, Restore

STORE = "tree"
"""What the token of a scope's context store is made from, beside the scope."""

Parts = tuple[str, str, "datetime | None"]


@frozen
class SessionLog:
    """The sessions of one scope."""

    keys: ScopeKeys

    def create(self, id: str) -> Plan[None]:
        """Creates an empty session, unless it is there already."""
        keys = self.keys
        yield from ask(call("sessions_create", keys.scopes, (keys.member, keys.token(STORE), id)))

    def append(self, id: str, role: str, content: str) -> Plan[Message]:
        """Appends a message; others who append at the same time come before or after it."""
        keys = self.keys
        now = clock.now_micros()
        arguments = (keys.token(STORE), id, role, content, now)
        (seq,) = yield from ask(call("sessions_append", keys.scopes, arguments), repeatable=False)
        if seq < 0:
            raise missing(id)
        return Message(seq, role, content, clock.from_micros(now))

    def read(self, id: str, first: int | None, count: int) -> Plan[tuple[int, list[Message]]]:
        """How many messages a session has, and up to `count` from number `first` on; None: the last ones."""
        keys = self.keys
        arguments = (keys.token(STORE), id, "" if first is None else first, count)
        ((length, start, rows),) = yield from ask(call("sessions_read", keys.scopes, arguments))
        if length < 0:
            raise missing(id)
        return length, [_message(start + place, row) for place, row in enumerate(rows)]

    def read_all(self, id: str) -> Plan[list[Message]]:
        """Every message of a session, as it is at one moment."""
        _, messages = yield from self.read(id, 0, 2**31)
        return messages

    def ids(self, limit: int, after: str | None) -> Plan[Page[str]]:
        """Up to `limit` ids of sessions that come after one, in the order of their bytes."""
        keys = self.keys
        first = "-" if after is None else f"({after}"
        command = ("ZRANGE", keys.key("sessions", STORE), first, "+", "BYLEX", "LIMIT", 0, limit + 1)
        (found,) = yield from ask(command)
        ids = [text(id) for id in found[:limit]]
        return Page(ids, ids[-1] if len(found) > limit else None)

    def restore(self, id: str, messages: Sequence[Parts], *, first: int = 0, ends: bool = True) -> Plan[Restore]:
        """Restores messages of a session from number `first` on, which end it or don't; raises `SessionConflict`."""
        keys = self.keys
        now = clock.now_micros()
        arguments: list[str | int] = [keys.member, keys.token(STORE), id, first, "end" if ends else ""]
        for role, content, at in messages:
            arguments += [role, content, now if at is None else clock.to_micros(at)]
        (outcome,) = yield from ask(call("sessions_restore", keys.scopes, arguments))
        if outcome == b"conflict":
            raise SessionConflict(
                f"session {id!r} holds other messages; nothing was changed, restore it under another id"
            )
        return Restore(id, text(outcome), first + len(messages))  # type: ignore[arg-type]

    def remove(self, id: str) -> Plan[int]:
        """Removes a session; how many messages went."""
        keys = self.keys
        arguments = (keys.member, keys.token(STORE), id)
        (count,) = yield from ask(call("sessions_remove", keys.scopes, arguments), repeatable=False)
        if count < 0:
            raise missing(id)
        return int(count)


def missing(id: str) -> SessionNotFound:
    """The error for a session that isn't there."""
    return SessionNotFound(f"there is no session {id!r} in this scope; create it, or restore it")


def _message(seq: int, row: Sequence[Any]) -> Message:
    try:
        role, content, at = row
        return Message(seq, text(role), text(content), clock.from_micros(int(at)))
    except (TypeError, ValueError):
        raise CorruptRecord("a message in the store isn't as we wrote it") from None
