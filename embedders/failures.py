"""Foreign exceptions of an embedder become ours; those of the network may pass."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tiered_memory.errors import EmbedderUnavailable, EmbeddingError, TieredMemoryError


@contextmanager
def embedder_errors(source: str) -> Iterator[None]:
    """Turns what `source` raises into ours, without the message, which may quote a text.

    It becomes `EmbedderUnavailable` if an error of the network or the operating system, or a time-out, is it or led to
    it; else `EmbeddingError`.
    """
    outside = sys.exc_info()[1]
    try:
        yield
    except TieredMemoryError:
        raise
    except Exception as error:
        kind = EmbedderUnavailable if _is_out_of_reach(error, outside) else EmbeddingError
        raise kind(f"{source} failed with {type(error).__name__}") from None


def _is_out_of_reach(error: BaseException | None, outside: BaseException | None) -> bool:
    """Whether the embedder was out of reach; what the caller was handling before has nothing to do with it."""
    while error is not None and error is not outside:
        if isinstance(error, OSError | asyncio.TimeoutError):
            return True
        error = error.__cause__ or error.__context__
    return False
