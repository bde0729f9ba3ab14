"""Where redis-py's exceptions become ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import (
    AuthenticationError,
    ConnectionError,
    RedisClusterException,
    RedisError,
    TimeoutError,
)

from tiered_memory.errors import (
    CorruptRecord,
    EmbedderMismatch,
    IndexUnavailable,
    ResultLimitExceeded,
    StoreError,
    StoreUnavailable,
    StoreUnsupported,
    TieredMemoryError,
    UpdateConflict,
)

_REFUSALS: tuple[tuple[str, type[TieredMemoryError], str], ...] = (
    ("CONFLICT", UpdateConflict, "what was to be updated was changed meanwhile"),
    ("CORRUPT", CorruptRecord, "a key of the store isn't as we wrote it, nothing was changed"),
    ("WRONGTYPE", CorruptRecord, "a key of the store has another type than it should"),
    ("EMBEDDER", EmbedderMismatch, "the namespace was moved to another embedder by `reembed`; use that one"),
    (
        "no such index",
        IndexUnavailable,
        "the index is gone: Redis was flushed, or the namespace was moved to another embedder; the next call finds out",
    ),
    ("LIMIT exceeds", ResultLimitExceeded, "the server's MAXSEARCHRESULTS is below what was asked for; raise it"),
    ("unknown command", StoreUnsupported, "the server lacks a command; Redis 8 or Redis Stack 7.4 is needed"),
    ("NOPERM", StoreError, "the Redis user may not run a command that is needed; grant it"),
    ("maxmemory", StoreUnavailable, "Redis is out of memory; raise its maxmemory or forget something"),
)


@contextmanager
def foreign_errors() -> Iterator[None]:
    """Raises redis-py's exceptions as ours."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise ours(error) from error


def ours(error: Exception) -> Exception:
    """Our exception for one of redis-py; the server's words are kept, except where they could quote a value."""
    words = str(error)
    if isinstance(error, StoreError):
        return error
    if isinstance(error, AuthenticationError):
        return StoreUnavailable("Redis refused the user name or password")
    if isinstance(error, TimeoutError):
        return StoreUnavailable(
            "Redis didn't answer within the time-out; raise `timeout`, or look at the server's load"
        )
    if isinstance(error, ConnectionError | RedisClusterException | OSError):
        return StoreUnavailable(
            f"Redis can't be reached ({type(error).__name__}); is it running, and is the URL right?"
        )
    for sign, kind, explanation in _REFUSALS:
        if sign in words:
            return kind(f"{explanation} ({words})")
    return StoreError(f"Redis refused a command: {words}")
