"""Messages of a session: what they may be, how they are written out, and what a session gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Literal

from attrs import field, frozen

from tiered_memory.errors import InvalidInput, TooLarge
from tiered_memory.scope import utf8

MAX_CONTENT_BYTES = 1024 * 1024
"""The longest content of a message, in bytes of UTF-8."""

MAX_ROLE_BYTES = 64
"""The longest role, in bytes of UTF-8."""

MAX_SESSION_ID_BYTES = 255
"""The longest id of a session, in bytes of UTF-8."""

MAX_RESTORED = 100_000
"""The most messages that one `restore` takes."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@frozen
class Message:
    """A message of a session.

    Attributes:
        seq: Its number in the session, from 0.
        role: Who said it: `user`, `assistant`, `system`, or any other word.
        content: What was said.
        at: When it was appended.
    """

    seq: int
    role: str
    content: str = field(repr=False)
    at: datetime

    @property
    def line(self) -> str:
        """The message as `role: content`."""
        return f"{self.role}: {self.content}"


@frozen
class Restore:
    """What became of a session that was to be restored.

    Attributes:
        id: Its id.
        outcome: `imported`, or `skipped` since it holds exactly these messages already.
        messages: How many messages it has.
    """

    id: str
    outcome: Literal["imported", "skipped"]
    messages: int


def check_session_id(value: object) -> str:
    """`value` itself: a text of 1 to `MAX_SESSION_ID_BYTES` bytes without control characters."""
    return _word(value, "session id", MAX_SESSION_ID_BYTES)


def check_hash(value: object) -> str:
    """`value` itself, a commit's hash: a text of 1 to `MAX_SESSION_ID_BYTES` bytes without control characters."""
    return _word(value, "hash", MAX_SESSION_ID_BYTES)


def check_role(value: object) -> str:
    """`value` itself: a text of 1 to `MAX_ROLE_BYTES` bytes without control characters."""
    return _word(value, "role", MAX_ROLE_BYTES)


def check_content(value: object) -> str:
    """`value` itself: valid Unicode of at most `MAX_CONTENT_BYTES`; it may be empty, as a call of a tool is."""
    if not isinstance(value, str):
        raise InvalidInput(f"content must be a str, not {type(value).__name__}")
    size = len(utf8(value, InvalidInput, "content"))
    if size > MAX_CONTENT_BYTES:
        raise TooLarge(f"content is {size} bytes long; at most {MAX_CONTENT_BYTES} are allowed, so split it")
    return value


def check_messages(messages: object) -> list[tuple[str, str, datetime | None]]:
    """Role, content and time of messages that are given as `Message` or as pairs of role and content."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Iterable):
        raise InvalidInput(f"messages must be several pairs of role and content, not {type(messages).__name__}")
    checked = [_parts(place, message) for place, message in enumerate(messages)]
    if len(checked) > MAX_RESTORED:
        raise TooLarge(f"{len(checked)} messages are too many for one restore; at most {MAX_RESTORED} are allowed")
    return checked


def transcript(messages: Sequence[Message]) -> str:
    """Messages as the text of a document: `role: content`, with a blank line between two."""
    return "\n\n".join(message.line for message in messages)


def transcript_hash(messages: Sequence[Message]) -> str:
    """The SHA-256 of the lines `role: content` of messages, in hexadecimal digits."""
    return sha256("\n".join(message.line for message in messages).encode()).hexdigest()


def _word(value: object, name: str, most: int) -> str:
    if not isinstance(value, str) or not value or _CONTROL.search(value):
        raise InvalidInput(f"{name}={value!r} must be a text that isn't empty, without control characters")
    size = len(utf8(value, InvalidInput, name))
    if size > most:
        raise InvalidInput(f"{name} is {size} bytes long; at most {most} are allowed")
    return value


def _parts(place: int, message: object) -> tuple[str, str, datetime | None]:
    try:
        if isinstance(message, Message):
            return check_role(message.role), check_content(message.content), message.at
        if isinstance(message, Sequence) and not isinstance(message, str) and len(message) == 2:
            return check_role(message[0]), check_content(message[1]), None
    except InvalidInput as error:
        raise type(error)(f"message {place}: {error}") from None
    raise InvalidInput(f"message {place} must be a Message, or a pair of role and content")
