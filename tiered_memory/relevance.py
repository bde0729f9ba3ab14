"""How relevant rows are to a question, by words and by similarity; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from attrs import frozen

from tiered_memory.months import NamedMonth, named_months
from tiered_memory.terms import asked_terms

MOST_TERMS = 32
"""How many different terms of a question are looked for; what else a long one holds is left to its vector."""

MORE_CANDIDATES = 32
"""How many rows beyond those that are wanted each of the two searches gives."""

LEAST_SHARE = 0.75
"""How much of a least cosine is asked for of what shares no word: it's ranked beside what does."""

_SATURATION = 1.2
_LENGTH_SHARE = 0.75
"""BM25's usual k1 and b: how soon repeating a term stops to matter, and how much a row's length does."""

_UNSEEN = 0.8
"""The share of the lowest cosine on a list that a row which isn't on it is taken to have."""


@frozen
class Question:
    """What is asked.

    Attributes:
        text: Its words.
        terms: The different terms to look for.
        months: The months that it names.
    """

    text: str
    terms: tuple[str, ...]
    months: frozenset[NamedMonth]

    @classmethod
    def of(cls, text: str) -> Question:
        """The question that a text asks."""
        return cls(text, tuple(asked_terms(text, MOST_TERMS)), named_months(text))


@frozen
class Corpus:
    """What the searched rows say about the terms of a question.

    Attributes:
        rows: How many rows are searched.
        having: How many of them hold each term.
    """

    rows: int
    having: Sequence[int]

    @property
    def weights(self) -> list[float]:
        """How much each term tells rows apart: BM25's inverse document frequency."""
        return [log(1 + (self.rows - having + 0.5) / (having + 0.5)) for having in self.having]


@frozen
class Row:
    """What one row that a search found has to do with the question.

    Attributes:
        words: How well its words fit, from 0: BM25 by what a row of usual length has that holds every term once.
        matched: The share of the question's weight that it holds, in [0, 1].
        similarity: Its cosine, or None where only its words have found it.
        least: The lowest cosine of the list that it isn't on.
    """

    words: float
    matched: float
    similarity: float | None
    least: float


def words(question: Question, corpus: Corpus, rows: Sequence[Sequence[bytes]]) -> list[tuple[float, float]]:
    """How well the terms of each row fit the question, see `Row.words`, and the share of its weight that it holds.

    BM25 as Robertson and Zaragoza give it ("The Probabilistic Relevance Framework: BM25 and Beyond", 2009), with
    Lucene's inverse document frequency, which is never negative.
    """
    weights = corpus.weights
    asked = [term.encode() for term in question.terms]
    total = sum(weights) or 1.0
    mean = sum(map(len, rows)) / (len(rows) or 1) or 1.0
    found = []
    for row in rows:
        length = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * len(row) / mean)
        score = held = 0.0
        for term, weight in zip(asked, weights, strict=True):
            count = row.count(term)
            if count:
                held += weight
                score += weight * count * (_SATURATION + 1) / (count + length)
        found.append((score / total, held / total))
    return found


def relevance(rows: Sequence[Row]) -> list[float]:
    """The relevance of each row in [0, 1]: half from its words, half from its similarity, each by the best of all.

    What words say counts by the share of the question that they hold, so that a stray word doesn't outweigh the
    right meaning. With no similarity at all, words decide alone.
    """
    most = max((row.words for row in rows), default=0.0) or 1.0
    nearest = max((row.similarity or 0.0 for row in rows), default=0.0)
    if nearest <= 0:
        return [row.words / most * row.matched for row in rows]
    return [(row.words / most * row.matched + _meaning(row) / nearest) / 2 for row in rows]


def _meaning(row: Row) -> float:
    return max(_UNSEEN * row.least if row.similarity is None else row.similarity, 0.0)
