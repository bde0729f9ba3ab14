"""Recalling: one call to the embedder, one round trip for all tiers and scopes, one merge."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import get_args

from attrs import evolve, field, frozen

from tiered_memory import clock
from tiered_memory.assertions.fields import as_written
from tiered_memory.assertions.neighbours import add_neighbours
from tiered_memory.assertions.surface import marking
from tiered_memory.checks import check_count, check_id, is_number
from tiered_memory.choice import best
from tiered_memory.config import GraphMode
from tiered_memory.engine.keys import Keyspace
from tiered_memory.errors import EmbedderUnavailable, InvalidQuery
from tiered_memory.graph.recall import boosted, filtered
from tiered_memory.items import Hits, Mode
from tiered_memory.plan import Plan, call, embed, join, opened
from tiered_memory.prompt import fitting
from tiered_memory.relevance import MORE_CANDIDATES, Question
from tiered_memory.rerank import rerank
from tiered_memory.tiers.base import Search, Tier
from tiered_memory.tiers.enabled import Tiers
from tiered_memory.tokens import TokenCounter

_logger = logging.getLogger(__name__)

_MOST_KEYS = 1000
"""Among how many ids one search looks at the most; more are several searches in one round trip."""


def _ids(value: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(value, str):
        raise InvalidQuery("among is a text; pass several ids, e.g. a list")
    return None if value is None else tuple(dict.fromkeys(map(check_id, value)))


def _moment(value: datetime | None) -> datetime | None:
    return None if value is None else clock.utc(value, "as_of")


@frozen
class Request:
    """What a caller wants recalled; validated.

    Attributes:
        query: The text to find memories for.
        k: How many hits at the most.
        threshold: The least cosine in [-1, 1], or None for the tiers' own.
        tiers: Which tiers to ask.
        scopes: Which exact scopes to ask.
        as_of: Recall what was believed at this aware time; None: what is believed now.
        include_superseded: Whether what was believed before may be a hit too.
        mode: What finds memories; None: the configuration's.
        window: How many neighbours of each hit come with it, before it and after it.
        max_tokens: The most tokens of the block that `format_memories` makes of the hits; None: no limit.
        counter: Who counts them; None: the best counter that this machine has.
        among: None but memories of these ids may be hits; None: all.
        graph: What is made of the graph; None: what the configuration says.
        trace: Whether the hits shall say what the graph had to do with them.
        diversity: How much hits are to differ from each other, in [0, 1); None: the configuration's.
    """

    query: str
    k: int
    threshold: float | None
    tiers: Sequence[Tier]
    scopes: Sequence[str | None]
    as_of: datetime | None = field(default=None, converter=_moment)
    include_superseded: bool = False
    mode: Mode | None = None
    window: int = 0
    max_tokens: int | None = None
    counter: TokenCounter | None = None
    among: Sequence[str] | None = field(default=None, converter=_ids)
    graph: GraphMode | None = None
    trace: bool = False
    diversity: float | None = None

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.query, str):
            raise InvalidQuery(f"query must be a str, not {type(self.query).__name__}")
        check_count(self.k, "k", 0)
        if self.threshold is not None and not (is_number(self.threshold) and -1 <= self.threshold <= 1):
            raise InvalidQuery(f"threshold={self.threshold!r} must be a cosine from -1 to 1")
        if self.mode is not None and self.mode not in get_args(Mode):
            raise InvalidQuery(f"mode={self.mode!r} must be one of {', '.join(get_args(Mode))}")
        if self.graph is not None and self.graph not in get_args(GraphMode):
            raise InvalidQuery(f"graph={self.graph!r} must be one of {', '.join(get_args(GraphMode))}")
        if self.diversity is not None and not (is_number(self.diversity) and 0 <= self.diversity < 1):
            raise InvalidQuery(f"diversity={self.diversity!r} must be a number from 0 to less than 1")
        check_count(self.window, "window", 0)
        if self.max_tokens is not None:
            check_count(self.max_tokens, "max_tokens", 0)


def recall(request: Request, tiers: Tiers, floor: float | None) -> Plan[Hits]:
    """The best hits of all tiers and scopes that are asked, merged in a total order; `floor` is the embedder's."""
    if request.k == 0 or not request.tiers or not request.scopes or request.among == ():
        return Hits()
    keyspace = yield from opened()
    vector, degraded = yield from _vector(request, tiers)
    hits = yield from _found(request, tiers, _searches(request, tiers, keyspace, floor, vector))
    hits.degraded = (*degraded, *hits.degraded)
    if tiers.reranker is not None and request.query.strip():
        yield from rerank(tiers.reranker, request.query, hits)
    del hits[request.k :]
    if request.max_tokens is not None:
        hits[:] = yield from call(fitting, hits, request.max_tokens, request.counter)
    if request.window:
        yield from add_neighbours(keyspace, [tier.keeping for tier in request.tiers], hits, request.window)
    if hits and request.as_of is None:
        keepings = {tier.name: tier.keeping for tier in request.tiers}
        yield marking(keyspace, keepings, hits)
    return hits


def _found(request: Request, tiers: Tiers, searches: Sequence[Search]) -> Plan[Hits]:
    """The best of what the tiers find, with or without the graph."""
    places, weaver = tiers.places, tiers.weaver
    k = _wanted(request, tiers)
    notes = [tier for tier in request.tiers if tier.keeping.notes]
    searched = [tier for tier in request.tiers if not tier.keeping.notes]
    # of notes only as many as the caller wants, since their scores depend on it
    asked = [tier.recall(evolve(search, k=request.k)) for search in searches for tier in notes]
    mode = _graph_mode(request, tiers)
    if mode == "off" or weaver is None or not searched:
        asked += [tier.recall(search) for search in searches for tier in searched]
        found = yield from join(asked)
        with as_written():
            return best(found, k, places)
    guide = filtered if mode == "filter" else boosted
    guided = yield from guide(searched, searches, weaver, asked, trace=request.trace)
    with as_written():
        hits = best(guided.first, k, places)
        known = {(hit.tier, hit.scope, hit.id) for hit in hits}
        others = best(guided.found, k, places)
        hits += [hit for hit in others if (hit.tier, hit.scope, hit.id) not in known][: k - len(hits)]
    if None in guided.reaches:
        hits.degraded = (*hits.degraded, "graph")
    hits.reaches = [reach for reach in guided.reaches if reach is not None]
    return hits


def _graph_mode(request: Request, tiers: Tiers) -> GraphMode:
    """What is made of the graph: in mode `vector` there is nothing that a boost could be added to."""
    if tiers.weaver is None:
        return "off"
    mode = request.graph or tiers.weaver.config.recall
    asks = bool(request.query.strip()) and request.among is None
    boosts = mode == "boost" and (request.mode or tiers.mode) == "vector"
    return mode if asks and not boosts else "off"


def _asks(request: Request) -> bool:
    """Whether anything is asked that a tier must search for."""
    return bool(request.query.strip()) and any(tier.embeds for tier in request.tiers)


def _vector(request: Request, tiers: Tiers) -> Plan[tuple[bytes | None, tuple[str, ...]]]:
    """The query's vector, and what is missing without it: where words are searched for too, these may do."""
    mode = request.mode or tiers.mode
    if mode == "text" or not _asks(request):
        return None, ()
    try:
        (embedding,) = yield from embed([request.query])
    except EmbedderUnavailable as error:
        if mode == "vector" or not tiers.defers:
            raise
        _logger.warning("the embedder is out of reach (%s); memories are found by their words alone", error.code)
        return None, ("embedder",)
    return embedding.vector, ()


def _searches(
    request: Request, tiers: Tiers, keyspace: Keyspace, floor: float | None, vector: bytes | None
) -> list[Search]:
    """The same recall as each scope is asked it."""
    mode = request.mode or tiers.mode
    question = Question.of(request.query) if mode != "vector" and _asks(request) else None
    diversity = tiers.diversity if request.diversity is None else request.diversity
    k = _wanted(request, tiers)
    if diversity and mode == "vector":
        k += MORE_CANDIDATES  # to choose from, which the other modes have anyway
    weight = 0.0 if tiers.weaver is None else tiers.weaver.config.weight
    now = clock.now_micros()
    as_of = None if request.as_of is None else clock.to_micros(request.as_of)
    return [
        Search(
            keyspace, keyspace.of(scope), vector, k, request.threshold, floor, now, as_of, request.include_superseded,
            mode, question, among, query=request.query, graph_weight=weight, diversity=diversity,
        )
        for scope in request.scopes
        for among in _parts(request.among)
    ]  # fmt: skip


def _wanted(request: Request, tiers: Tiers) -> int:
    """How many hits are chosen: what a re-ranker is given may be more than what is wanted."""
    return request.k if tiers.reranker is None else max(request.k, tiers.reranked)


def _parts(among: Sequence[str] | None) -> list[Sequence[str] | None]:
    """The ids, in parts that one search can take."""
    if among is None:
        return [None]
    return [among[first : first + _MOST_KEYS] for first in range(0, len(among), _MOST_KEYS)]
