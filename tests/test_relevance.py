"""How relevant rows are to a question by words and by similarity, as pure functions."""

from __future__ import annotations

from math import log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiered_memory.relevance import MOST_TERMS, Corpus, Question, Row, relevance, words


def row(words=0.0, matched=0.0, similarity=None, least=0.0):
    return Row(words, matched, similarity, least)


def fit(question, texts, corpus=None):
    """How well the terms of each text fit a question."""
    rows = [text.encode().split() for text in texts]
    asked = Question.of(question)
    having = [sum(term.encode() in each for each in rows) for term in asked.terms]
    return words(asked, corpus or Corpus(len(rows), having), rows)


vocabulary = st.lists(st.sampled_from(["tea", "milk", "cup", "door", "key"]), max_size=6).map(" ".join)
shares = st.floats(0, 1)
measured = st.builds(row, st.floats(0, 3), shares, st.none() | st.floats(-1, 1), st.floats(-1, 1))


class TestQuestion:
    def test_of(self):
        """A question has its different terms and the months that it names."""
        asked = Question.of("Which tea did we drink in May 2023?")
        assert (asked.terms, asked.months) == (("tea", "drink", "2023"), {(2023, 5)})

    def test_long(self):
        """A long question is looked for by its first terms only."""
        assert len(Question.of(" ".join(f"word{n}" for n in range(100))).terms) == MOST_TERMS


class TestWeights:
    def test_formula(self):
        """A term's weight is log(1 + (N - n + 0.5) / (n + 0.5)) where n of N rows hold it."""
        assert Corpus(10, [1, 10]).weights == pytest.approx([log(1 + 9.5 / 1.5), log(1 + 0.5 / 10.5)])

    @settings(deadline=None, derandomize=True)
    @given(st.integers(0, 10**7), st.integers(0, 10**7))
    def test_positive_and_falling(self, having, more):
        """No weight is negative, and what more rows hold weighs less."""
        rare, common = Corpus(having + more, [having, having + more]).weights
        assert rare >= common > 0


class TestWords:
    def test_bm25(self):
        """A row's words are worth BM25 with k1 = 1.2 and b = 0.75, by the weight of all that is asked."""
        ((score, share), _) = fit("tea milk", ["tea tea cup door", "milk cup"])
        length = 1.2 * (0.25 + 0.75 * 4 / 3)
        assert score == pytest.approx(2 * 2.2 / (2 + length) / 2)
        assert share == pytest.approx(0.5)

    def test_rare_words_tell_more(self):
        """A row that holds the rarer term fits better."""
        (rare, _), (common, _), *_ = fit("tea milk", ["tea cup", "milk cup", "milk key", "milk door"])
        assert rare > common

    def test_nothing(self):
        """Where nothing is asked, or no row is given, nothing fits."""
        assert fit("what is it?", ["tea"]) == [(0, 0)]
        assert fit("tea", []) == []
        assert fit("tea", [""]) == [(0, 0)]

    @settings(deadline=None, derandomize=True)
    @given(vocabulary, st.lists(vocabulary, min_size=1, max_size=6))
    def test_range(self, question, texts):
        """The share is in [0, 1], 1 where every term is held; what holds none scores nothing."""
        asked = set(Question.of(question).terms)
        for text, (score, share) in zip(texts, fit(question, texts), strict=True):
            held = asked & set(text.split())
            assert 0 <= share <= 1 + 1e-12
            assert (share == pytest.approx(1)) == (held == asked != set())
            assert (score > 0) == (share > 0) == bool(held)

    @settings(deadline=None, derandomize=True)
    @given(vocabulary, st.lists(vocabulary, min_size=1, max_size=6), st.randoms(use_true_random=False))
    def test_order_is_irrelevant(self, question, texts, random):
        """How well a row fits doesn't depend on the order of the rows, or of the words in them."""
        expected = dict(zip(texts, fit(question, texts), strict=True))
        mixed = random.sample(texts, len(texts))
        turned = [" ".join(random.sample(text.split(), len(text.split()))) for text in mixed]
        for text, found in zip(mixed, fit(question, turned), strict=True):
            assert found == pytest.approx(expected[text])


class TestRelevance:
    def test_best_of_both(self):
        """What fits best and is nearest has a relevance of 1."""
        assert relevance([row(0.8, 1, 0.4), row(0.1, 0.2, 0.1)])[0] == 1

    def test_halves(self):
        """Words count half, by the best words and the share that they hold; similarity the other half, by the best."""
        scores = relevance([row(2, 1, 0.2), row(1, 0.5, 0.8)])
        assert scores == pytest.approx([(1 + 0.25) / 2, (0.5 * 0.5 + 1) / 2])

    def test_a_stray_word(self):
        """A stray word doesn't outweigh the right meaning."""
        stray, right = relevance([row(0.3, 0.3, 0.1), row(0, 0, 0.6)])
        assert right > stray

    def test_an_unknown_cosine(self):
        """What only its words have found is taken to be somewhat farther off than the last that is known."""
        assert relevance([row(0, 0, 0.8), row(1, 1, None, 0.5)]) == pytest.approx([0.5, (1 + 0.8 * 0.5 / 0.8) / 2])

    def test_words_alone(self):
        """Without any similarity words decide alone."""
        assert relevance([row(2, 1), row(1, 0.5), row()]) == [1, 0.25, 0]

    def test_similarity_alone(self):
        """Without any shared word similarity decides alone."""
        assert relevance([row(similarity=0.5), row(similarity=0.25)]) == [0.5, 0.25]

    def test_nothing(self):
        """No rows have no relevance, and what is opposed has none."""
        assert relevance([]) == []
        assert relevance([row(similarity=-0.5)]) == [0]

    @settings(deadline=None, derandomize=True)
    @given(st.lists(measured))
    def test_range(self, rows):
        """A relevance is in [0, 1], as long as no unknown cosine is taken to be above those that are known."""
        nearest = max((each.similarity or 0.0 for each in rows), default=0.0)
        rows = [Row(each.words, each.matched, each.similarity, min(each.least, nearest)) for each in rows]
        assert all(0 <= score <= 1 for score in relevance(rows))

    @settings(deadline=None, derandomize=True)
    @given(st.lists(measured), st.randoms(use_true_random=False))
    def test_order_is_irrelevant(self, rows, random):
        """A row's relevance doesn't depend on the order of the rows."""
        order = random.sample(range(len(rows)), len(rows))
        scores = relevance(rows)
        assert relevance([rows[place] for place in order]) == [scores[place] for place in order]

    @settings(deadline=None, derandomize=True)
    @given(st.lists(measured, min_size=1), shares)
    def test_more_is_never_less(self, rows, more):
        """What holds more of the question is never less relevant for it."""
        first, *others = rows
        richer = Row(first.words, max(first.matched, more), first.similarity, first.least)
        assert relevance([richer, *others])[0] >= relevance(rows)[0]
