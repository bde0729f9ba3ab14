"""A re-ranker of the caller's own: it puts the best hits of a recall in order."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import isfinite
from typing import Protocol, runtime_checkable

from tiered_memory.items import Hits
from tiered_memory.plan import Plan, call

_logger = logging.getLogger(__name__)


@runtime_checkable
class Reranker(Protocol):
    """Says how well texts answer a query, e.g. by a cross-encoder."""

    def rerank(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """A finite score for each text, higher for a better answer; under an async memory it may be awaitable.

        It is called off the event loop. When it fails, hits keep their order, and say so in `degraded`.
        """
        ...


def rerank(reranker: Reranker, query: str, hits: Hits) -> Plan[None]:
    """Puts `hits` into the order of a re-ranker's scores; equal ones stay as they are."""
    if not hits:
        return
    try:
        scores = [float(score) for score in (yield from call(reranker.rerank, query, [hit.text for hit in hits]))]
        if len(scores) != len(hits) or not all(map(isfinite, scores)):
            raise ValueError("a finite score for each text")
    except Exception as error:
        _logger.warning("the re-ranker failed with %s; hits keep their order", type(error).__name__)
        hits.degraded = (*hits.degraded, "reranker")
        return
    for hit, score in zip(hits, scores, strict=True):
        hit.why["reranker"] = score
    hits.sort(key=lambda hit: -hit.why["reranker"])
