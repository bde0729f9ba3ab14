"""Ranked search of a tree: by words, by similarity, or by both, rated together as a recall's hits are."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.assertions.fields import as_written
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.search import Nearby, hybrid, nearby
from tiered_memory.errors import EmbeddingError, IndexUnavailable, InvalidQuery
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask, embed, opened
from tiered_memory.relevance import LEAST_SHARE, MORE_CANDIDATES, Corpus, Question, Row, relevance, words
from tiered_memory.scope import utf8
from tiered_memory.store.hits import Found, check_fields, check_hits
from tiered_memory.store.living import (
    INDEXED,
    SCORE,
    Candidate,
    Ranked,
    Ranking,
    by_similarity,
    candidate,
    in_order,
    living,
    rows_of,
)
from tiered_memory.store.search import SearchOperations, containing
from tiered_memory.store.uri import ROOT, Uri, parse

SearchMode: TypeAlias = Literal["keyword", "vector", "hybrid"]
"""What finds documents: their words, their vectors, or both."""

_logger = logging.getLogger(__name__)


class DocumentHits(list[Found]):
    """The hits of a search of documents, best first.

    Attributes:
        degraded: What had no part in them since it failed: the `embedder`, so that words alone have found them, or the
            `index`, so that they are the documents that hold the query as a substring, without a score. Empty when all
            went well.
    """

    def __init__(self, found: Iterable[Found] = (), degraded: tuple[str, ...] = ()) -> None:
        super().__init__(found)
        self.degraded = degraded


@frozen
class _Asked:
    """What is asked, and of which documents.

    Attributes:
        keys: The scope's keys.
        under: The URI that the documents are or lie below.
        question: The query as words.
        vector: The vector's field, and the query's vector; both empty where it isn't searched for.
        least: The least cosine of a hit that shares no word with the query, or None.
    """

    keys: ScopeKeys
    under: Uri
    question: Question
    vector: tuple[str, bytes]
    least: float | None


class RankedOperations(SearchOperations):
    """Searching the documents of one scope, best hits first."""

    @operation
    def search(
        self,
        query: str,
        mode: SearchMode = "hybrid",
        top_k: int = 10,
        under: str | None = None,
        fields: Iterable[str] | None = None,
    ) -> Plan[DocumentHits]:
        """The documents in use that answer a query best, by score, then by URI.

        In mode `hybrid` the score is in [0, 1]: half from the words that a document shares with the query, half from
        its similarity, each by the best of all. What shares no word must be near enough, by the embedder's floor. When
        the embedder or the search index fails, what is left is searched, which `degraded` says.

        Args:
            query: What is looked for, in words.
            mode: `keyword`, `vector` or `hybrid`.
            top_k: How many at the most, up to 200.
            under: The URI that they are or lie below; None: the whole tree.
            fields: Which of `content`, `abstract`, `overview` and `score` are read; None: all of them.

        Raises:
            InvalidQuery: The query is blank, or there is no such mode.
            InvalidLimit: `top_k` is out of its range.
            InvalidField: A field is none of these, or `uri`, which always comes.
            InvalidURI: `under` isn't a URI.
            NotFound: Nothing stands at `under`.
            EmbeddingError: The embedder failed, in mode `vector`.
            IndexUnavailable: The search index is gone, in mode `vector`.
        """
        check_hits(top_k, "top_k")
        within, wanted = parse(under or ROOT), check_fields(fields, SCORE)
        _check(query, mode)
        keyspace = yield from opened()
        keys = keyspace.of(self._scope)
        vector, degraded = yield from self._vector(query, mode)
        named = ("", b"") if vector is None else (keyspace.vector, vector)
        if mode == "vector":
            return DocumentHits((yield from living(keys, within, wanted, top_k, by_similarity(keys, within, named))))
        rank = self._by_words_too(keys, within, query, named)
        try:
            found = yield from living(keys, within, wanted, top_k, rank)
        except IndexUnavailable as error:
            _logger.warning("the search index is gone (%s); documents are searched for the query itself", error.code)
            layers = [name for name in wanted if name != SCORE]
            found = yield from containing(keys, query.casefold(), within, top_k, layers)
            degraded = (*degraded, "index")
        return DocumentHits(found, degraded)

    def _vector(self, query: str, mode: SearchMode) -> Plan[tuple[bytes | None, tuple[str, ...]]]:
        """The query's vector, and what is missing without it."""
        if mode == "keyword":
            return None, ()
        try:
            (embedding,) = yield from embed([query])
        except EmbeddingError as error:
            if mode == "vector":
                raise
            _logger.warning("the embedder failed (%s); documents are found by their words alone", error.code)
            return None, ("embedder",)
        return embedding.vector, ()

    def _by_words_too(self, keys: ScopeKeys, under: Uri, query: str, vector: tuple[str, bytes]) -> Ranking:
        """Ranks by words, and by a vector where there is one."""
        floor = self._runner.embedder.floor
        least = None if floor is None else ranking.least(floor * LEAST_SHARE)
        asked = _Asked(keys, under, Question.of(query), vector, least)
        return lambda count: _rank(asked, count + MORE_CANDIDATES)


def _check(query: object, mode: str) -> None:
    if mode not in get_args(SearchMode):
        raise InvalidQuery(f"mode={mode!r} must be one of {', '.join(get_args(SearchMode))}")
    if not isinstance(query, str) or not query.strip():
        raise InvalidQuery("query must be a text that isn't blank")
    utf8(query, InvalidQuery, "query")


def _rank(asked: _Asked, count: int) -> Plan[Ranked]:
    """Up to `count` rows by words, and as many by similarity, rated together."""
    if not asked.vector[0] and not asked.question.terms:
        return [], True
    keys, terms = asked.keys, asked.question.terms
    fields = (*INDEXED, "terms")
    command = hybrid(keys, None, rows_of(keys, asked.under), asked.vector, terms, fields, (count, -1))
    ((rows, having, found, _, gone),) = yield from ask(command, hurried=True)
    with as_written():
        near = list(nearby(found, fields))
    candidates = _passing(asked, near, _rows(asked.question, Corpus(rows, having), near))
    # whatever shares a word passes, and what is less near than one that doesn't pass doesn't either
    return candidates, len(found) + gone < count or len(candidates) < count


def _rows(question: Question, corpus: Corpus, found: Sequence[Nearby]) -> list[Row]:
    """What each row has to do with the question."""
    least = min((each.similarity for each in found if each.similarity is not None), default=0.0)
    fitting = words(question, corpus, [each.fields.get(b"terms", b"").split() for each in found])
    return [Row(*fit, each.similarity, least) for fit, each in zip(fitting, found, strict=True)]


def _passing(asked: _Asked, found: Sequence[Nearby], rows: Sequence[Row]) -> list[Candidate]:
    """The rows that share a word with the question, or are near enough, in their order."""
    passing = []
    for each, row, score in zip(found, rows, relevance(rows), strict=True):
        near = row.similarity is not None and (asked.least is None or row.similarity >= asked.least)
        if row.matched or near:
            passing.append(candidate(asked.keys, each.fields, round(score, 9)))
    return in_order(passing)


class Search(RankedOperations, Blocking):
    """Searching the tree of one scope."""


class AsyncSearch(RankedOperations, NonBlocking):
    """Searching the tree of one scope."""
