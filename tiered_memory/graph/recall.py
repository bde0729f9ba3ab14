"""Recalling with the graph: what mentions the entities of a question is boosted, or nothing else is asked."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve, frozen

from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import RetrievalPath
from tiered_memory.graph.paths import paths
from tiered_memory.graph.shares import Reach, Shares
from tiered_memory.graph.stored import READ
from tiered_memory.graph.times import Times
from tiered_memory.graph.weave import Wanted, Weaver
from tiered_memory.items import Hits
from tiered_memory.plan import Plan, join
from tiered_memory.tiers.base import Found, Search, Tier

_BOOSTED = 100
"""How many facts that a question reaches are boosted at the most."""

_BOOST_READS = 400
"""How many facts are looked at for these; what so many others mention too says little."""

_FILTERED = 1000
"""Among how many memories that a question reaches a filter searches at the most."""

_RESCUED = 20
"""How many memories that a question reaches are looked at even where neither words nor similarity find them."""


@frozen
class Guided:
    """What was found, and what the graph had to do with it.

    Attributes:
        found: What the tiers found, and what else was asked.
        first: What they found among the memories that the graph names, which comes before all else; for a filter.
        reaches: What the question reached in each scope; None after a fault.
    """

    found: list[Found]
    first: list[Found]
    reaches: list[Reach | None]


@frozen
class TracedRecall:
    """A recall with what the graph had to do with it.

    Attributes:
        hits: What was recalled.
        entities: The entities that the question names.
        paths: How each memory was reached from them, the most relevant first.
    """

    hits: Hits
    entities: tuple[EntityRef, ...]
    paths: tuple[RetrievalPath, ...]


def traced(hits: Hits) -> TracedRecall:
    """The hits of a recall of one scope, which was asked to trace, with their trace."""
    reach = next(iter(hits.reaches), None)
    if reach is None:
        return TracedRecall(hits, (), ())
    return TracedRecall(hits, reach.entities, tuple(paths(reach.entities, reach.facts)))


def boosted(
    tiers: Sequence[Tier], searches: Sequence[Search], weaver: Weaver, others: Sequence[Plan[Found]], *, trace: bool
) -> Plan[Guided]:
    """What the tiers find, with the share that each memory has in the question's entities.

    A few of those that only the graph knows of are among it: a boost may rescue, and hides nothing.
    """
    reaches = yield from _reached(searches, weaver, Wanted(_BOOSTED, _BOOST_READS, 1, trace))
    shares = [reach.shares if reach else Shares() for reach in reaches]
    named = [_among(search, share, _RESCUED) for search, share in zip(searches, shares, strict=True)]
    plain, among, rest = yield from _ask(tiers, searches, named, others)
    for place, (part, rescued) in enumerate(zip(plain, among, strict=True)):
        _join(part, rescued, shares[place // len(tiers)])
    return Guided([*rest, *plain], [], reaches)


def filtered(
    tiers: Sequence[Tier], searches: Sequence[Search], weaver: Weaver, others: Sequence[Plan[Found]], *, trace: bool
) -> Plan[Guided]:
    """What the tiers find among the memories that the graph names, and what else they find, to fill up with."""
    wanted = Wanted(_FILTERED, READ, weaver.config.least_hits, trace)
    reaches = yield from _reached(searches, weaver, wanted)
    enough = [reach if reach and len(reach.facts) >= weaver.config.least_hits else Reach() for reach in reaches]
    named = [_among(search, reach.shares, _FILTERED) for search, reach in zip(searches, enough, strict=True)]
    plain, among, rest = yield from _ask(tiers, searches, named, others)
    return Guided([*rest, *plain], among, reaches)


def _ask(
    tiers: Sequence[Tier], searches: Sequence[Search], named: Sequence[Search], others: Sequence[Plan[Found]]
) -> Plan[tuple[list[Found], list[Found], list[Found]]]:
    """What the tiers find, what they find among the memories that are named, and what else was asked, at one time."""
    plans = [tier.recall(search) for search in (*searches, *named) for tier in tiers]
    found = yield from join([*plans, *others])
    half = len(plans) // 2
    return found[:half], found[half : 2 * half], found[2 * half :]


def _reached(searches: Sequence[Search], weaver: Weaver, wanted: Wanted) -> Plan[list[Reach | None]]:
    """What the question reaches in the scope of each search."""
    scopes, times = [search.scope for search in searches], Times.of(searches[0].as_of)
    return (yield from weaver.reach(scopes, searches[0].query, times, wanted))


def _among(search: Search, shares: Shares, most: int) -> Search:
    """The same search among the first memories that have a share."""
    records = [search.scope.record(number) for number in shares.records][:most]
    return evolve(search, among=tuple(shares.ids)[: most - len(records)], records=records)


def _join(found: Found, rescued: Found, shares: Shares) -> None:
    """Adds what was rescued, and gives each candidate its share."""
    if found.corpus is None:
        return
    known = {each.record for each in found.candidates}
    found.candidates.extend(each for each in rescued.candidates if each.record not in known)
    for each in found.candidates:
        each.graph = shares.of(each)
