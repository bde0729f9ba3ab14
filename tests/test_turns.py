"""What tells for a turn beside its own words and meaning, as pure functions."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shorthand import NOON

from tiered_memory.clock import to_micros
from tiered_memory.relevance import Question
from tiered_memory.turns import NO_RULES, Turn, TurnRules, favours, lent, previous, speaker_of

ALL = TurnRules(neighbours=0.25, month=0.2, speaker=0.05, question=0.1)


def turn(place=-1, conversation=None, speaker=None, month=(2026, 3), *, asks=False):
    return Turn(place, conversation, speaker, month, asks)


def gains(question, turns, rules=ALL):
    return list(favours(Question.of(question), turns, rules))


scores = st.floats(0, 1)


class TestTurn:
    def of(self, text="Hello.", **metadata):
        fields = {b"text": text.encode(), b"at": str(to_micros(NOON)).encode()}
        return Turn.of(fields | {b"metadata": json.dumps(metadata, ensure_ascii=False).encode()}, 7)

    def test_of_a_row(self):
        """A row says its place, its conversation, its speaker, its month, and whether it asks."""
        assert self.of("Tea?", conversation="c", speaker="Ann", other=1) == Turn(7, "c", "Ann", (2026, 3), True)

    def test_without(self):
        """What no metadata names isn't known."""
        assert self.of() == Turn(7, None, None, (2026, 3), False)
        assert not self.of(speaker="Ann").has_neighbours

    @pytest.mark.parametrize(
        ("value", "name"), [(7, "7"), ("", None), (" ", None), (None, None), ([1], None), ({"a": 1}, None), (1.5, None)]
    )
    def test_names(self, value, name):
        """A name is a text or a whole number; nothing else is taken for one."""
        assert self.of(conversation=value).conversation == name
        assert speaker_of({"speaker": value}) == name

    @pytest.mark.parametrize(
        ("text", "asks"), [("Tea?", True), ("Tea? \n", True), ("茶？", True), ("Tea? No.", False), ("?!", False)]
    )
    def test_asks(self, text, asks):
        """A turn asks when it ends in a question mark."""
        assert self.of(text).asks is asks


class TestPrevious:
    def test_of_the_conversation(self):
        """The turn before is the one at the place before, of the same conversation."""
        turns = [turn(5, "a"), turn(4, "a"), turn(3, "b"), turn(1, "b"), turn(-1, "a"), turn(6)]
        assert previous(turns) == [1, None, None, None, None, None]


class TestLent:
    def test_a_mean(self):
        """A score is the weighted mean of its own, by 1, and its two neighbours', by the share each."""
        turns = [turn(0, "a"), turn(1, "a"), turn(2, "a"), turn(3, "a")]
        assert lent([0.2, 1, 0.4, 0], turns, 0.25, 100)[1:3] == pytest.approx(
            [(1 + 0.25 * 0.6) / 1.5, (0.4 + 0.25 * 1) / 1.5]
        )

    def test_not_found(self):
        """A neighbour that wasn't found counts nothing."""
        assert lent([0.9], [turn(4, "a")], 0.25, 100) == pytest.approx([0.6])

    def test_ends(self):
        """Where the conversation ends, the other neighbour counts twice."""
        turns = [turn(0, "a"), turn(1, "a"), turn(2, "b")]
        assert lent([0.6, 0.3, 1], turns, 0.25, 100)[:2] == pytest.approx([(0.6 + 0.15) / 1.5, (0.3 + 0.3) / 1.5])

    def test_the_newest(self):
        """After the last of all turns nothing can come, so that the one before it counts twice."""
        turns = [turn(6, "a"), turn(7, "a")]
        assert lent([0.6, 0.9], turns, 0.25, 8)[1] == pytest.approx((0.9 + 0.25 * 1.2) / 1.5)

    def test_alone(self):
        """A turn whose conversation has no other keeps its score."""
        assert lent([1, 0.6, 1], [turn(3, "b"), turn(4, "a"), turn(5, "b")], 0.25, 100)[1] == pytest.approx(0.6)

    def test_other_conversations(self):
        """Other conversations lend nothing, nor does what belongs to none."""
        assert lent([0.5, 1], [turn(3), turn(4)], 0.25, 100) == [0.5, 1]
        assert lent([0.5, 1], [turn(-1, "a"), turn(-1, "a")], 0.25, 100) == [0.5, 1]

    def test_switched_off(self):
        """Without a share every score stays."""
        assert lent([0.2, 1], [turn(0, "a"), turn(1, "a")], 0, 100) == [0.2, 1]

    @settings(deadline=None, derandomize=True)
    @given(st.lists(st.tuples(scores, st.sampled_from("ab")), max_size=12), scores, st.randoms(use_true_random=False))
    def test_range_and_order(self, said, share, random):
        """What is lent keeps scores in [0, 1], in whatever order the turns are given."""
        turns = [turn(place, conversation) for place, (_, conversation) in enumerate(said)]
        own = [score for score, _ in said]
        found = lent(own, turns, share, 100)
        assert all(0 <= score <= 1 + 1e-12 for score in found)
        order = random.sample(range(len(said)), len(said))
        assert lent([own[place] for place in order], [turns[place] for place in order], share, 100) == [
            found[place] for place in order
        ]


class TestFavours:
    def test_month(self):
        """A turn of a month that the question names gains, of that year if it names one."""
        turns = [turn(month=(2023, 5)), turn(month=(2024, 5)), turn(month=(2023, 6))]
        assert gains("What happened in May 2023?", turns) == [{"month": 0.2}, {}, {}]
        assert gains("What happened in May?", turns) == [{"month": 0.2}, {"month": 0.2}, {}]

    def test_speaker(self):
        """A turn of the only speaker whom the question names gains, by the whole or the first name."""
        turns = [turn(speaker="Ann Lee"), turn(speaker="Bob"), turn()]
        assert gains("What does ann like?", turns) == [{"speaker": 0.05}, {}, {}]
        assert gains("What do Bob's friends like?", turns) == [{}, {"speaker": 0.05}, {}]

    @pytest.mark.parametrize(
        "question", ["What do Ann and Bob like?", "What does Annabel like?", "What does Lee like?"]
    )
    def test_no_speaker(self, question):
        """Where the question names both speakers, or neither, nobody gains."""
        assert gains(question, [turn(speaker="Ann Lee"), turn(speaker="Bob")]) == [{}, {}]

    def test_a_question(self):
        """A turn that asks loses."""
        assert gains("tea", [turn(asks=True), turn()]) == [{"question": -0.1}, {}]

    def test_switched_off(self):
        """Without rules nothing tells."""
        turns = [turn(month=(2023, 5), speaker="Ann", asks=True), turn(speaker="Bob")]
        assert gains("What did Ann say in May 2023?", turns, NO_RULES) == [{}, {}]
        assert gains("What did Ann say in May 2023?", turns)[0] == {"month": 0.2, "speaker": 0.05, "question": -0.1}
