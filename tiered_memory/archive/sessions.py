"""The sessions of an archive: long ones in several pieces, which follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from attrs import frozen

from tiered_memory import clock
from tiered_memory.archive.section import Outcome, Outcomes, Place, Record, Section, micros
from tiered_memory.checks import check_count
from tiered_memory.errors import InvalidInput, SessionConflict
from tiered_memory.items import Page
from tiered_memory.plan import Plan, join
from tiered_memory.store.messages import Message, check_content, check_role, check_session_id
from tiered_memory.store.session_log import SessionLog

_STEP = 10
"""How many sessions are read at a time."""

_PIECE = 100
"""How many messages of one."""


@frozen
class Piece:
    """Messages of a session from number `first` on; whether they end it."""

    id: str
    first: int
    ends: bool
    messages: list[tuple[str, str, datetime | None]]


class Sessions(Section):
    """The sessions of a scope."""

    name = "sessions"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._log = SessionLog(place.keys)
        self._differing: str | None = None

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """A piece of the session that the last page left unfinished, or the beginnings of several."""
        number, _, id = (cursor or ":").partition(":")
        if number:
            piece = yield from self._piece(id, int(number))
            return Page([piece], _following(piece))
        ids = yield from self._log.ids(_STEP, id or None)
        pieces = yield from join([self._piece(each, 0) for each in ids.items])
        for place, piece in enumerate(pieces):
            if not piece["ends"]:
                return Page(pieces[: place + 1], _following(piece))
        return Page(pieces, None if ids.cursor is None else f":{ids.cursor}")

    def parse(self, record: Record) -> Piece:
        """The piece of a record."""
        first, ends = check_count(record["first"], "first", 0), record["ends"]
        if not isinstance(ends, bool) or not (ends or record["messages"]):
            raise InvalidInput(f"ends={ends!r} must be true or, where messages are, false")
        messages = [
            (check_role(each["role"]), check_content(each["content"]), clock.from_micros(micros(each["at"])))
            for each in record["messages"]
        ]
        return Piece(check_session_id(record["id"]), first, ends, list(messages))

    def load(self, parsed: Sequence[Piece]) -> Plan[Outcomes]:
        """Restores piece after piece; of a session that differs no further piece is written."""
        outcomes: Outcomes = []
        for piece in parsed:
            outcomes.append((piece.id, (yield from self._restore(piece))))
        return outcomes

    def _restore(self, piece: Piece) -> Plan[Outcome]:
        if piece.first == 0:
            self._differing = None
        if piece.id != self._differing:
            try:
                restored = yield from self._log.restore(piece.id, piece.messages, first=piece.first, ends=piece.ends)
            except SessionConflict:
                self._differing = piece.id
            else:
                return restored.outcome
        return "conflict"

    def _piece(self, id: str, first: int) -> Plan[Record]:
        length, messages = yield from self._log.read(id, first, _PIECE)
        ends = first + len(messages) >= length
        return {"id": id, "first": first, "ends": ends, "messages": [_message(each) for each in messages]}


def _following(piece: Record) -> str:
    return f":{piece['id']}" if piece["ends"] else f"{piece['first'] + len(piece['messages'])}:{piece['id']}"


def _message(message: Message) -> Record:
    return {"role": message.role, "content": message.content, "at": message.at.isoformat()}
