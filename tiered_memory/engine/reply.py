"""Reading Redis' replies by their shape: the same values from RESP2 and RESP3, always as bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tiered_memory.errors import CorruptRecord, StoreUnavailable

Fields = dict[bytes, bytes]


def pairs(reply: Any) -> dict[Any, Any]:
    """A map that came as one, or as a flat list of names and values."""
    if isinstance(reply, Mapping):
        return dict(reply)
    return dict(zip(reply[::2], reply[1::2], strict=False))


def rows(reply: Any) -> list[tuple[bytes, Fields]]:
    """The key and the fields of each row of a search, without fields for a row that expired meanwhile.

    Raises `StoreUnavailable` when the server says that the answer isn't whole.
    """
    if isinstance(reply, Mapping):
        warnings = reply.get(b"warning")
        if warnings:
            raise StoreUnavailable(f"the search was not finished: {strings(warnings[0])}; try again")
        return [(row[b"id"], row.get(b"extra_attributes") or {}) for row in reply[b"results"]]
    return [(key, pairs(row) if row else {}) for key, row in zip(reply[1::2], reply[2::2], strict=True)]


def text(value: Any) -> str:
    """UTF-8 bytes as text; raises `CorruptRecord` for anything else."""
    try:
        return value if isinstance(value, str) else value.decode()
    except (AttributeError, UnicodeDecodeError):
        raise CorruptRecord(f"expected text in the store, found {type(value).__name__}") from None


def strings(reply: Any) -> Any:
    """A reply with all bytes in it decoded."""
    if isinstance(reply, bytes):
        return reply.decode(errors="replace")
    if isinstance(reply, Mapping):
        return {strings(name): strings(value) for name, value in reply.items()}
    if isinstance(reply, Sequence) and not isinstance(reply, str):
        return [strings(value) for value in reply]
    return reply
