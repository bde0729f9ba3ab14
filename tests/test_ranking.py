"""The score formulas and the order of hits, as pure functions."""

from __future__ import annotations

from datetime import timedelta
from itertools import permutations

import pytest
from shorthand import DAY

from tiered_memory import ranking


class TestFormulas:
    def test_position(self):
        """The note at place i of n scores 1 - i/n."""
        assert [ranking.position(place, 4) for place in range(4)] == [1, 0.75, 0.5, 0.25]

    @pytest.mark.parametrize(("half_lives", "value"), [(0, 1), (0.5, 0.70710678), (1, 0.5), (2, 0.25), (4, 0.0625)])
    def test_recency(self, half_lives, value):
        """Recency halves with each half-life."""
        half_life = timedelta(days=7)
        assert ranking.recency(half_lives * half_life.total_seconds(), half_life) == pytest.approx(value)

    def test_recency_of_the_future(self):
        """What is yet to come is as recent as can be."""
        assert ranking.recency(-1e9, DAY) == 1

    def test_recency_of_long_ago(self):
        """What is ages old has no recency left, and raises nothing."""
        assert ranking.recency(1e15, timedelta(microseconds=1)) == 0

    @pytest.mark.parametrize(("uses", "value"), [(1, 1 / 2), (2, 2 / 3), (9, 9 / 10)])
    def test_reinforcement(self, uses, value):
        """Reinforcement is uses / (uses + 1): the first use is worth one half."""
        assert ranking.reinforcement(uses) == pytest.approx(value)

    def test_blend(self):
        """The blend is (1 - w) * cosine + w * bonus, at its ends the one or the other."""
        assert ranking.blend(0.8, 1, 0.3) == pytest.approx(0.86)
        assert ranking.blend(0.8, 1, 0) == 0.8
        assert ranking.blend(0.8, 1, 1) == 1

    def test_similarity(self):
        """A cosine distance of 0 to 2 is a cosine of 1 to -1, without the noise of float32."""
        assert [ranking.similarity(distance) for distance in (0, 0.2, 1, 2)] == [1, 0.8, 0, -1]
        assert ranking.similarity(0.2000000179) == 0.8
        assert ranking.similarity(-1.19e-7) == 1

    @pytest.mark.parametrize(("cosine", "passes"), [(0.7, True), (0.6999995, True), (0.69999, False), (1, True)])
    def test_threshold(self, cosine, passes):
        """A threshold is inclusive, up to the rounding of float32."""
        assert (cosine >= ranking.least(0.7)) is passes


class TestOrder:
    def test_total(self):
        """Hits are ordered by score, tier, cosine and time, the highest score, cosine and time first."""
        ordered = [
            ranking.rank(0.9, 0.1, 0, place=3),
            ranking.rank(0.8, None, 0, place=0),
            ranking.rank(0.8, 0.9, 5, place=1),
            ranking.rank(0.8, 0.8, 7, place=1),
            ranking.rank(0.8, 0.8, 6, place=1),
            ranking.rank(0.8, None, 8, place=1),
        ]
        assert all(sorted(order) == ordered for order in permutations(ordered))


class TestFinality:
    @pytest.mark.parametrize(
        ("kth", "bound", "final"), [(0.9, 0.8, True), (0.8, 0.8, False), (0.7, 0.8, False), (None, 0.8, False)]
    )
    def test_strictly_above(self, kth, bound, final):
        """The best k are final when the k-th is above what an unseen row could score; a row that ties must be seen."""
        assert ranking.is_final(kth, bound) is final
