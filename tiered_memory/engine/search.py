"""The commands that search a partition's index: the nearest rows of a token, and those that lead by a number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import Fields
from tiered_memory.engine.scripts import call
from tiered_memory.plan import Command

ACTIVE = "@active:{$token}"
"""The rows that are believed now, of the scope and tier that the token stands for."""

BELIEVED_EVER = "@active:{$token} | @superseded:{$token}"
"""Those, and the rows that were believed before."""

AS_OF = (
    "(@active:{$token} @active_from:[-inf $moment])"
    " | (@superseded:{$token} @active_from:[-inf $moment] @superseded_at:[($moment +inf])"
)
"""The rows that were believed at a moment, in microseconds since 1970."""

Parameters = dict[str, "str | bytes | int | float"]


@frozen
class Where:
    """Which rows of an index are searched.

    Attributes:
        query: In the language of the search module.
        parameters: What stands for `$name` in it.
        keys: None but the rows that lie at these keys; None: all.
    """

    query: str
    parameters: Parameters
    keys: Sequence[str] | None = None

    def also(self, query: str, parameters: Parameters) -> Where:
        """These rows, if they also are what another query finds."""
        return Where(f"({self.query}) {query}", self.parameters | parameters, self.keys)

    @property
    def all_that_stands(self) -> bool:
        """Whether that is all that is believed now in a tier of a scope."""
        return self.query == ACTIVE and self.keys is None

    @property
    def only(self) -> tuple[str | int, ...]:
        """The part of a command that keeps to the keys."""
        return () if self.keys is None else ("INKEYS", len(self.keys), *self.keys)


def nearest(index: str, where: Where, vector: tuple[str, bytes], fields: Sequence[str], count: int) -> Command:
    """The `count` rows that are nearest to a vector of a field, each with its cosine `distance` in [0, 2]."""
    name, value = vector
    query = f"({where.query})=>[KNN $count @{name} $vector AS distance]"
    asked = Where(query, where.parameters | {"count": count, "vector": value}, where.keys)
    return _search(index, asked, ("distance", *fields), ("SORTBY", "distance"), count)


def leading(index: str, where: Where, by: str, fields: Sequence[str], count: int) -> Command:
    """The `count` rows that have the highest number in field `by`."""
    return _search(index, where, fields, ("SORTBY", by, "DESC"), count)


def hybrid(
    scope: ScopeKeys,
    tier: str | None,
    where: Where,
    vector: tuple[str, bytes],
    terms: Sequence[str],
    fields: Sequence[str],
    counts: tuple[int, int],
) -> Command:
    """The rows of a tier, or of none, that are near to a vector, and those that share terms.

    Each search gives as many rows as the first of `counts` says; the second says of how many of the best by terms
    the neighbours come too, or is -1 where places in the order don't matter. A nameless vector isn't searched for.
    Each row has the first of `fields`. Answered by how many rows are searched, how many of them hold each term, the
    rows as `nearby` reads them, how long the tier's order is, and how many rows expired meanwhile.
    """
    count, neighbours = counts
    given = _flat(where.parameters)
    token = "" if tier is None else scope.token(tier)
    searched = (scope.index, where.query, count, token, "all" if where.all_that_stands else "")
    lists = (len(where.only), *where.only, len(given), *given, len(fields), *fields)
    return call("hybrid", scope.scopes, (*searched, neighbours, *lists, *vector, *terms))


class Nearby(NamedTuple):
    """A row that `hybrid` found.

    Attributes:
        key: Its key.
        place: Its place in its tier's order, or -1.
        similarity: Its cosine, where the vector has found it.
        fields: Its fields.
    """

    key: bytes
    place: int
    similarity: float | None
    fields: Fields


def nearby(found: Sequence[Any], fields: Sequence[str]) -> Iterator[Nearby]:
    """The rows of an answer of `hybrid`; to be called within `as_written`."""
    names = [name.encode() for name in fields]
    for key, place, distance, values in found:
        held = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        yield Nearby(key, place, None if distance is None else ranking.similarity(float(distance)), held)


def _flat(parameters: Parameters) -> list[str | bytes | int | float]:
    return [argument for pair in parameters.items() for argument in pair]


def _search(index: str, where: Where, fields: Sequence[str], ordering: Sequence[str], count: int) -> Command:
    # without a time limit of its own an answer is whole, or the connection's time-out says that there is none
    given = _flat(where.parameters)
    return (
        "FT.SEARCH", index, where.query, *where.only, "PARAMS", len(given), *given, *ordering, "LIMIT", 0, count,
        "RETURN", len(fields), *fields, "TIMEOUT", 0, "DIALECT", 2,
    )  # fmt: skip
