"""Personalised PageRank over a part of a graph: which facts are best connected with some entities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tiered_memory.errors import InvalidLimit, InvalidQuery, MissingExtra
from tiered_memory.graph.entities import EntityRef
from tiered_memory.graph.items import GraphView

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_NODES = 5000
"""How many nodes may be ranked."""

_PRECISION = 1e-10
_ROUNDS = 200


def pagerank(
    view: GraphView, seeds: Iterable[EntityRef] | Mapping[EntityRef, float], *, damping: float = 0.5
) -> list[tuple[str, float]]:
    """The facts of a view that a walk from the seeds meets, by how often: memory ids with their shares of its steps.

    A walker goes on along a mention, either way, with the probability `damping`, else back to a seed. The pairs of
    entities aren't walked, since they follow from the mentions.

    Args:
        view: What to walk in, up to 5,000 nodes.
        seeds: Where to begin, with a weight for each entity; without weights each counts by one over the number of its
            facts in the view, so that a hub doesn't outweigh the others (Gutiérrez et al., HippoRAG, 2024). Those that
            aren't in the view are passed over.
        damping: In [0, 1).

    Returns:
        Memory ids and scores, the highest first, then by id; together with those of the entities the scores are 1.

    Raises:
        InvalidLimit: The view has too many nodes.
        InvalidQuery: `damping` or a weight is out of its range.
        MissingExtra: scipy isn't installed.
    """
    if len(view.nodes) > MAX_NODES:
        raise InvalidLimit(f"the view has {len(view.nodes)} nodes; at most {MAX_NODES} can be ranked")
    if not 0 <= damping < 1:
        raise InvalidQuery(f"damping={damping!r} must be at least 0 and less than 1")
    places = {node: place for place, node in enumerate(view.nodes)}
    links = [(places[edge.source], places[edge.target]) for edge in view.edges if edge.kind == "mention"]
    start = _start(places, links, seeds)
    if not start:
        return []
    visits = _walk(len(places), links, start, damping)
    ranked = [(node, round(float(visits[place]), 9)) for node, place in places.items() if isinstance(node, str)]
    return sorted(((node, score) for node, score in ranked if score > 0), key=lambda row: (-row[1], row[0]))


def _start(
    places: Mapping[Any, int],
    links: Sequence[tuple[int, int]],
    seeds: Iterable[EntityRef] | Mapping[EntityRef, float],
) -> dict[int, float]:
    """The weight of each place where the walk begins; together they are 1."""
    degrees = [0] * len(places)
    for entity, _ in links:
        degrees[entity] += 1
    given = seeds if isinstance(seeds, Mapping) else dict.fromkeys(seeds)
    if any(weight is not None and not 0 <= weight < float("inf") for weight in given.values()):
        raise InvalidQuery("the weight of a seed must be a finite number of at least 0")
    known = {places[seed]: weight for seed, weight in given.items() if seed in places}
    weights = {place: 1 / max(degrees[place], 1) if weight is None else weight for place, weight in known.items()}
    total = sum(weights.values())
    return {place: weight / total for place, weight in weights.items()} if total else {}


def _walk(size: int, links: Sequence[tuple[int, int]], start: Mapping[int, float], damping: float) -> NDArray[Any]:
    """How often each place is met, by power iteration: x = (1 - d) s + d (P x + s · what is at a dead end)."""
    import numpy as np

    try:
        from scipy.sparse import coo_array
    except ImportError:
        raise MissingExtra("pagerank", "graph") from None
    ends = np.array(links, dtype=np.intp).reshape(-1, 2)
    one_way = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size)).tocsr()
    both_ways = one_way + one_way.T
    degrees = both_ways.sum(axis=0)
    shares = np.divide(1, degrees, out=np.zeros(size), where=degrees > 0)
    seeds = np.zeros(size)
    seeds[list(start)] = list(start.values())
    visits, after = seeds, seeds
    for _ in range(_ROUNDS):
        stranded = visits[degrees == 0].sum()
        after = (1 - damping) * seeds + damping * (both_ways @ (visits * shares) + stranded * seeds)
        if np.abs(after - visits).sum() < _PRECISION:
            break
        visits = after
    return after
