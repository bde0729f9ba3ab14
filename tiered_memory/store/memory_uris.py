"""Which URIs are those of memories."""

from __future__ import annotations

from tiered_memory.errors import InvalidURI
from tiered_memory.store.uri import parse

MEMORIES = parse("viking://user/memories")
"""What memories lie below: first the type of each, then where it stands."""


def memory_type(id: str) -> str | None:
    """The type of memory that an id names, if it is a URI below `MEMORIES` of at least two segments more."""
    if not id.startswith(f"{MEMORIES}/"):
        return None
    try:
        _, _, kind, *rest = parse(id).segments
    except InvalidURI:
        return None
    return kind if rest else None
