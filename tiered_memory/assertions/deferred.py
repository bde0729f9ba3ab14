"""Memories whose vectors are made later, by a durable job, since the embedder is out of reach."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tiered_memory.errors import EmbedderUnavailable
from tiered_memory.plan import Embedding, Plan, embed

KIND = "embed_memories"
"""The kind of such jobs. Their payload names a tier and ids; what is to be embedded is read when the job is done."""

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
