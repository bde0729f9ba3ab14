"""Memories whose vectors are made later, by a durable job, since the embedder is out of reach."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tiered_memory.errors import EmbedderUnavailable
from tiered_memory.plan import Embedding, Plan, embed

KIND = "embed_memories"
"""The kind of such jobs. Their payload names a tier and ids; what is to be embedded is read when the job is done."""

_AT_ONCE = 100
"""How many memories one job embeds at the most."""

_ID_BYTES = 40 * 1024
"""How many bytes of ids one job names at the most; each may take six in the payload."""

_logger = logging.getLogger(__name__)


def embed_or_defer(texts: Sequence[str], *, defers: bool) -> Plan[list[Embedding]]:
    """The embeddings of texts; empty ones, if the configuration `defers`, while the embedder is out of reach."""
    try:
        return (yield from embed(texts))
    except EmbedderUnavailable as error:
        if not defers:
            raise
        _logger.warning("the embedder is out of reach (%s); a job makes the vectors later", error.code)
        return [Embedding(b"")] * len(texts)


def embedding_jobs(memories: Iterable[tuple[str, str]]) -> list[tuple[str, dict[str, Any]]]:
    """The jobs that embed memories, which are given by their tiers and ids, as pairs of kind and payload."""
    by_tier: dict[str, dict[str, None]] = {}
    for tier, id in memories:
        by_tier.setdefault(tier, {})[id] = None
    return [(KIND, {"tier": tier, "ids": part}) for tier, ids in by_tier.items() for part in _parts(ids)]


def _parts(ids: Iterable[str]) -> Iterator[list[str]]:
    """The ids, in parts that one job can name."""
    part: list[str] = []
    size = 0
    for id in ids:
        size += len(id.encode())
        if part and (len(part) == _AT_ONCE or size > _ID_BYTES):
            yield part
            part, size = [], len(id.encode())
        part.append(id)
    if part:
        yield part
