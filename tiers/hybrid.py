"""What words find and what similarity finds, in one round trip, and how both are rated together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, cast

from tiered_memory import ranking
from tiered_memory.assertions.fields import as_written, expired, is_of
from tiered_memory.engine.reply import Fields
from tiered_memory.engine.search import Nearby, hybrid, nearby
from tiered_memory.plan import Plan, ask
from tiered_memory.relevance import LEAST_SHARE, MORE_CANDIDATES, Corpus, Row, relevance, words
from tiered_memory.tiers.base import Candidate, Found, Search
from tiered_memory.turns import Turn, favours, lent, previous

if TYPE_CHECKING:
    from tiered_memory.tiers.vector import VectorTier

_NEIGHBOURS_OF = 10
"""Of how many of the best by words the neighbours come too, where turns have neighbours."""

_BONUS_SHARE = 1 / 3
"""How much of the tier's weight its bonus has here, where it only orders what is relevant."""


def by_words_too(tier: VectorTier, search: Search) -> Plan[Found]:
    """What words find and what similarity finds, in no order yet."""
    question = search.question
    if question is None or (search.vector is None and not question.terms):
        return Found(tier, search, [])
    neighbours = _neighbours(tier, search)
    name = search.keyspace.vector
    fields = (*search.fields, "terms", *(["slot"] if neighbours >= 0 else []))
    wanted = fields if search.threshold is None or name in fields else (*fields, name)
    vector = ("", b"") if search.vector is None else (name, search.vector)
    where, count = tier.where(search), search.k + MORE_CANDIDATES
    while True:
        command = hybrid(search.scope, tier.name, where, vector, question.terms, wanted, (count, neighbours))
        ((rows, having, found, size, gone),) = yield from ask(command, hurried=True)
        with as_written():
            candidates = list(_candidates(search, nearby(found, wanted)))
        if len(candidates) >= search.k or len(candidates) == len(found) + gone or len(found) + gone < count:
            lowest = min((each.similarity for each in candidates if each.similarity is not None), default=0.0)
            return Found(tier, search, candidates, Corpus(rows, having), size, lowest)
        count *= 4  # so many have expired that others were not looked at


def _neighbours(tier: VectorTier, search: Search) -> int:
    """Of how many of the best by words the neighbours come too; -1 where not even places in the order matter."""
    if not tier.rules.neighbours or search.as_of is not None:
        return -1
    return _NEIGHBOURS_OF if search.among is None else 0


def _candidates(search: Search, found: Iterable[Nearby]) -> Iterator[Candidate]:
    for row in found:
        if is_of(row.fields, search.scope) and not expired(row.fields, search.now):
            similarity = _cosine(search, row.fields) if row.similarity is None else row.similarity
            yield Candidate(row.fields, 0.0, similarity, {}, row.place, row.key)


def _cosine(search: Search, fields: Fields) -> float | None:
    """The cosine of a row that only its words have found, if it was asked for."""
    vector = fields.get(search.keyspace.vector.encode())
    if vector is None or search.vector is None:
        return None
    return ranking.cosines([vector], search.vector, search.keyspace.numbers)[0]


def rate(found: Sequence[Found]) -> None:
    """Scores what words and similarity found, all together, and leaves only what may be a hit."""
    turns = [_turns(part) for part in found]
    rows = [_rows(part, own) for part, own in zip(found, turns, strict=True)]
    scores = iter(relevance([row for part in rows for row in part]))
    for part, own, fitting in zip(found, turns, rows, strict=True):
        _score(part, own, fitting, [next(scores) for _ in fitting])


def _turns(found: Found) -> list[Turn]:
    """The candidates as turns, where a rule for turns matters."""
    question = found.search.question
    if question is None or not _tier(found).rules.matter(question):
        return []
    return [Turn.of(each.fields, each.place) for each in found.candidates]


def _tier(found: Found) -> VectorTier:
    return cast("VectorTier", found.tier)


def _rows(found: Found, turns: Sequence[Turn]) -> list[Row]:
    """What each candidate has to do with the question; a turn is understood with the words of the one before it."""
    question, candidates = found.search.question, found.candidates
    if question is None or found.corpus is None or not question.terms:
        return [Row(0.0, 0.0, each.similarity, found.lowest) for each in candidates]
    heard = [each.fields.get(b"terms", b"").split() for each in candidates]
    if turns:
        own = heard
        heard = [row if one is None else row + own[one] for row, one in zip(own, previous(turns), strict=True)]
    fitting = words(question, found.corpus, heard)
    return [Row(*fit, each.similarity, found.lowest) for fit, each in zip(fitting, candidates, strict=True)]


def _score(found: Found, turns: Sequence[Turn], rows: Sequence[Row], scores: Sequence[float]) -> None:
    tier, question = _tier(found), found.search.question
    shared: Sequence[float] = scores
    gains: Iterable[dict[str, float]] = repeat({}, len(rows))
    if turns and question:
        shared, gains = lent(scores, turns, tier.rules.neighbours, found.size), favours(question, turns, tier.rules)
    share = tier.weight * _BONUS_SHARE
    passes, rescues = _passing(found), found.search.threshold is None
    kept = []
    for each, row, own, score, gained in zip(found.candidates, rows, scores, shared, gains, strict=True):
        if not (passes(row) or (rescues and each.graph)):
            continue
        why = each.why = {**_why(row, score - own), **gained}
        each.score = max(score + sum(gained.values()) + found.search.graph_weight * each.graph, 0.0)
        if each.graph:
            why["graph"] = found.search.graph_weight * each.graph
        if share:
            bonus = why[tier.bonus_name] = tier.bonus(each.fields, found.search.moment)
            each.score *= 1 - share + share * bonus
        each.score = round(each.score, 9)
        kept.append(each)
    found.candidates[:] = kept


def _why(row: Row, lent: float) -> dict[str, float]:
    why = {} if row.similarity is None else {"similarity": row.similarity}
    if row.matched:
        why["text"] = row.words * row.matched
    if lent:
        why["neighbours"] = lent
    return why


def _passing(found: Found) -> Callable[[Row], bool]:
    """Tells whether a row may be a hit: it shares words with the question, or is near enough.

    Where the caller names a threshold, all must be near enough.
    """
    search = found.search
    if search.vector is None:
        return lambda row: row.matched > 0
    words_suffice = search.threshold is None
    least = found.tier.least(search)
    least = ranking.least(min(least, least * LEAST_SHARE) if words_suffice else least, search.keyspace.tolerance)
    return lambda row: (row.similarity is not None and row.similarity >= least) or (words_suffice and row.matched > 0)
