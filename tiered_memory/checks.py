"""What may be passed: texts, ids, metadata, lifetimes, counts and cursors; each check returns what it was given."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, TypeGuard

from tiered_memory.errors import InvalidItem, InvalidLimit, InvalidQuery
from tiered_memory.scope import utf8

MAX_TEXT_BYTES = 1024 * 1024
"""The longest text of a memory, in bytes of UTF-8."""

MAX_ID_BYTES = 16 * 1024
"""The longest id of a memory, in bytes of UTF-8."""

MAX_TTL = timedelta(days=36_525)
"""The longest lifetime of a memory: a hundred years."""

MAX_METADATA_BYTES = 256 * 1024
"""The most metadata a memory may carry, in bytes of JSON."""


def check_text(text: object) -> str:
    """`text` itself, if it is one to remember: not blank, valid Unicode, at most `MAX_TEXT_BYTES` long."""
    if not isinstance(text, str):
        raise InvalidItem(f"text must be a str, not {type(text).__name__}")
    if not text.strip():
        raise InvalidItem("text is blank; there is nothing to remember")
    size = len(utf8(text, InvalidItem, "text"))
    if size > MAX_TEXT_BYTES:
        raise InvalidItem(f"text is {size} bytes long; at most {MAX_TEXT_BYTES} are allowed, so split it")
    return text


def check_id(value: object, name: str = "id") -> str:
    """`value` itself: a text of 1 to `MAX_ID_BYTES` bytes, compared byte for byte."""
    if not isinstance(value, str) or not value:
        raise InvalidItem(f"{name}={value!r} must be a text that isn't empty")
    size = len(utf8(value, InvalidItem, name))
    if size > MAX_ID_BYTES:
        raise InvalidItem(f"{name} is {size} bytes long; at most {MAX_ID_BYTES} are allowed")
    return value


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a whole or real number; a truth value isn't."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _check_share(value: object, name: str) -> float:
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidItem(f"{name}={value!r} must be a number from 0 to 1")
    return float(value)


def check_ttl(ttl: object) -> timedelta | None:
    """`ttl` as a time span from a millisecond to `MAX_TTL`; a number is seconds; None stays None."""
    if ttl is None:
        return None
    try:
        span = timedelta(seconds=ttl) if is_number(ttl) else ttl
    except (ValueError, OverflowError):
        span = None
    if not isinstance(span, timedelta) or not timedelta(milliseconds=1) <= span <= MAX_TTL:
        raise InvalidItem(
            f"ttl={ttl!r} must be a timedelta or a number of seconds, from 0.001 s to {MAX_TTL.days} days"
        )
    return span


def check_metadata(metadata: object) -> dict[str, Any] | None:
    """A copy of `metadata` that shares nothing with it, if it maps texts to JSON values; None stays None."""
    return None if metadata is None else json.loads(_json(metadata))


def _json(metadata: object) -> str:
    if not isinstance(metadata, Mapping):
        raise InvalidItem(f"metadata must be a mapping, not {type(metadata).__name__}")
    for key in metadata:
        if not isinstance(key, str):
            raise InvalidItem(f"metadata key {key!r} must be a str")
    try:
        text = encode_metadata(metadata)
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidItem(f"metadata must hold JSON values only ({bad})") from None
    size = len(utf8(text, InvalidItem, "metadata"))
    if size > MAX_METADATA_BYTES:
        raise InvalidItem(f"metadata is {size} bytes of JSON; at most {MAX_METADATA_BYTES} are allowed")
    return text


def encode_metadata(metadata: Mapping[str, Any]) -> str:
    """`metadata` as compact JSON text."""
    return json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def check_status(status: object) -> Literal["active", "candidate"]:
    """`status` itself, one that can be remembered."""
    if status in ("active", "candidate"):
        return status
    raise InvalidItem(f"status={status!r} must be 'active' or 'candidate'")


def check_confidence(value: object) -> float:
    """`value` itself, a finite number in [0, 1]."""
    return _check_share(value, "confidence")


def check_importance(value: object) -> float:
    """`value` itself, a finite number in [0, 1]."""
    return _check_share(value, "importance")


def check_source(source: object) -> str | None:
    """`source` itself: a text as an id is one, or None."""
    return None if source is None else check_id(source, "source")


def check_count(value: int, name: str, least: int) -> int:
    """`value` itself, a whole number of at least `least`; raises `InvalidLimit`."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or value < least:
        raise InvalidLimit(f"{name}={value!r} must be a whole number of at least {least}")
    return value


def check_cursor(cursor: object, call: str, form: str) -> None:
    """Refuses a cursor that no page of `call` gave, which would have this form."""
    if cursor is not None and not (isinstance(cursor, str) and re.fullmatch(form, cursor, re.DOTALL | re.ASCII)):
        raise InvalidQuery(f"cursor={cursor!r} is not one that a page of `{call}` gave")
