"""Conflicts: active memories of one tier that say almost the same, found with the vectors that are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tiered_memory import clock, ranking
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import read
from tiered_memory.checks import is_number
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import EmbeddingsUnavailable, InvalidQuery
from tiered_memory.items import Assertion, Conflict
from tiered_memory.plan import Plan, ask, join

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_STEP = 500
"""How many vectors are read, and compared with all others, at a time."""


@frozen
class Vectors:
    """Vectors of one length each, whose memories have these ids and numbers."""

    ids: list[str]
    numbers: list[str]
    unit: NDArray[np.float32]


def check_threshold(threshold: float) -> float:
    """`threshold` itself, a cosine; raises `InvalidQuery`."""
    if not is_number(threshold) or not -1 <= threshold <= 1:
        raise InvalidQuery(f"threshold={threshold!r} must be a cosine from -1 to 1")
    return threshold


def conflicts(
    keyspace: Keyspace, keepings: list[Keeping], scope: str | None, threshold: float, limit: int
) -> Plan[list[Conflict]]:
    """The most similar pairs of at least this cosine, within each tier; pairs that were settled are left out.

    Raises `EmbeddingsUnavailable` when no tier has two vectors to compare.
    """
    pairs: list[tuple[float, Keeping, str, str]] = []
    comparable = False
    for keeping in keepings:
        vectors = yield from _load(keyspace, keeping, scope)
        comparable = comparable or len(vectors.ids) > 1
        settled = yield from settled_pairs(keyspace, keeping, scope)
        pairs += [
            (cosine, keeping, vectors.ids[a], vectors.ids[b])
            for cosine, a, b in near(vectors, threshold, keyspace.tolerance)
            if pair_of(vectors.numbers[a], vectors.numbers[b]) not in settled
        ]
    if not comparable:
        raise EmbeddingsUnavailable("fewer than two memories have a vector in this scope, so none can be compared")
    pairs.sort(key=lambda each: (-each[0], each[1].name, each[2], each[3]))
    found = yield from join([_conflict(keyspace, scope, *pair) for pair in pairs[:limit]])
    return [conflict for conflict in found if conflict is not None]


def settle(keyspace: Keyspace, keeping: Keeping, scope: str | None, conflict: Conflict) -> Plan[None]:
    """Never reports this pair again, as long as both stay as they are."""
    keys = keyspace.of(scope)
    pair = pair_of(str(conflict.a.number), str(conflict.b.number))
    yield from ask(("SADD", keys.key("settled", keeping.name), pair))


def _load(keyspace: Keyspace, keeping: Keeping, scope: str | None) -> Plan[Vectors]:
    import numpy as np

    keys = keyspace.of(scope)
    ids, numbers, vectors, cursor = [], [], [], ""
    while True:
        now = clock.now_micros()
        arguments = (now, *keeping.address(keys), keyspace.vector, cursor, _STEP)
        ((following, found),) = yield from ask(call("vectors", keys.scopes, arguments))
        for number, vector, (id, raw) in found:
            if raw == keys.raw:
                ids.append(text(id))
                numbers.append(text(number))
                vectors.append(np.frombuffer(vector, dtype=keyspace.numbers))
        cursor = text(following)
        if not cursor:
            break
    return by_id(ids, numbers, vectors)


def by_id(ids: Sequence[str], numbers: Sequence[str], vectors: Sequence[NDArray[Any]]) -> Vectors:
    """Vectors in the order of their ids, made one long."""
    import numpy as np

    order = sorted(range(len(ids)), key=ids.__getitem__)
    array = np.array([vectors[at] for at in order], dtype="f4").reshape(len(order), len(vectors[0]) if vectors else 0)
    unit = array / np.linalg.norm(array, axis=1, keepdims=True)
    return Vectors([ids[at] for at in order], [numbers[at] for at in order], unit)


def near(vectors: Vectors, threshold: float, tolerance: float) -> list[tuple[float, int, int]]:
    """The cosine and the places of each pair that is near enough, the lower id first."""
    import numpy as np

    found = []
    for start in range(0, len(vectors.ids), _STEP):
        cosines = vectors.unit[start : start + _STEP] @ vectors.unit[start:].T
        rows, columns = np.nonzero(np.triu(cosines >= ranking.least(threshold, tolerance), k=1))
        found += [
            (round(float(cosines[row, column]), 6), start + int(row), start + int(column))
            for row, column in zip(rows, columns, strict=True)
        ]
    return found


def _conflict(
    keyspace: Keyspace, scope: str | None, cosine: float, keeping: Keeping, a: str, b: str
) -> Plan[Conflict | None]:
    first, second = yield from join([read(keyspace, keeping, scope, id) for id in (a, b)])
    if first is None or second is None:
        return None
    if isinstance(first.memory, Assertion) and isinstance(second.memory, Assertion):
        return Conflict(first.memory, second.memory, cosine)
    return None


def settled_pairs(keyspace: Keyspace, keeping: Keeping, scope: str | None) -> Plan[set[str]]:
    """The pairs of a tier that are much alike, and shall be."""
    (members,) = yield from ask(("SMEMBERS", keyspace.of(scope).key("settled", keeping.name)))
    return {text(member) for member in members}


def pair_of(one: str, other: str) -> str:
    """A pair of numbers as it is kept."""
    low, high = sorted((one, other), key=int)
    return f"{low}:{high}"
