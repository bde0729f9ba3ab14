"""What else tells for the turns of a conversation: neighbours, month, speaker, question; each can be switched off."""

from __future__ import annotations

from datetime import datetime, timezone

import numpy as np
import pytest
from shorthand import NOON, frozen, texts

from tiered_memory import ConfigError, EpisodicConfig, MemoryItem

QUESTION = "Which ferry did we take?"
RULES = ("neighbours", "month", "speaker", "question")


@pytest.fixture(autouse=True)
def far(embedder):
    """No text is near to a question of these tests, unless it says so."""
    embedder.vector = lambda text: np.array([1, 0, 0] if text.startswith(("Which", "What")) else [0.1, 1, 0], "f4")


@pytest.fixture
def open_turns(open_memory):
    """Opens a memory of mode `hybrid` in which time doesn't matter, and only the rules that are given."""

    def opened(**rules):
        episodic = EpisodicConfig(weight=0, **dict.fromkeys(RULES, 0) | rules)
        return open_memory(mode="hybrid", episodic=episodic)

    return opened


def said(text, speaker=None, conversation=None, at=NOON, **given):
    metadata = {"speaker": speaker, "conversation": conversation}
    named = {name: value for name, value in metadata.items() if value is not None}
    return MemoryItem(text, "episodic", at=at, metadata=named, **given)


def scores(mem, query, **asked):
    """The score of each hit by its text."""
    return {hit.text: hit.score for hit in mem.recall(query, k=20, threshold=-1, **asked)}


def gained(open_turns, items, query, **rule):
    """How much more each text scores with a rule than without, and what its hits say of it."""
    mem = open_turns()
    mem.remember(items)
    without, (name,) = scores(mem, query), rule
    mem = open_turns(**rule)
    told = {hit.text: hit.why.get(name) for hit in mem.recall(query, k=20, threshold=-1)}
    return {text: round(score - without[text], 9) for text, score in scores(mem, query).items()}, told


class TestNeighbours:
    TALK = (
        said("The ferry to the island.", conversation="a"),
        said("It was late.", conversation="a"),
        said("Lovely weather.", conversation="b"),
    )

    def test_the_answer_to_what_was_said(self, open_turns):
        """A turn is found by the words of the one that its conversation has before it."""
        mem = open_turns(neighbours=1 / 3)
        mem.remember(self.TALK)
        assert sorted(texts(mem.recall(QUESTION))) == ["It was late.", "The ferry to the island."]

    def test_lend(self, open_turns):
        """A neighbour of what is relevant gains; a turn of another conversation doesn't."""
        gains, told = gained(open_turns, self.TALK, QUESTION, neighbours=1 / 3)
        assert gains["It was late."] > 0.1 > 0 >= gains["Lovely weather."]
        assert told["It was late."] > 0

    def test_before(self, open_turns):
        """So does the turn before what is relevant."""
        items = [said("Where were you?", conversation="a"), said("On the ferry.", conversation="a")]
        gains, _ = gained(open_turns, items, QUESTION, neighbours=1 / 3)
        assert gains["Where were you?"] > 0.05

    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_come_along(self, open_turns, how):
        """The neighbours of what fits best are looked at, however many other turns are nearer."""
        mem = open_turns(neighbours=1 / 3)
        mem.remember([said(f"Soup {n}.", conversation="b") for n in range(60)])
        mem.remember(self.TALK)
        mem.remember([said(f"Bread {n}.", conversation="b") for n in range(60)])
        assert sorted(texts(mem.recall(QUESTION, mode=how))) == ["It was late.", "The ferry to the island."]

    @pytest.mark.parametrize("rest", [{"conversation": None}, {"tier": "semantic"}])
    def test_only_turns(self, open_turns, rest):
        """What names no conversation has no neighbours, nor has what isn't an episode."""
        mem = open_turns(neighbours=1 / 3)
        if "tier" in rest:
            mem.remember([MemoryItem(each.text, "semantic", metadata=each.metadata) for each in self.TALK])
        else:
            mem.remember([said(each.text) for each in self.TALK])
        assert texts(mem.recall(QUESTION)) == ["The ferry to the island."]

    def test_gone(self, open_turns):
        """A turn that is forgotten or has expired, or has another text now, lends nothing."""
        with frozen() as time:
            mem = open_turns(neighbours=1 / 3)
            mem.remember([said("The ferry.", conversation="a", id="1", ttl=60), said("Yes.", conversation="a", id="2")])
            assert len(mem.recall(QUESTION)) == 2
            time.tick(60)
            assert mem.recall(QUESTION) == []


class TestMonth:
    ITEMS = (
        said("We took the green ferry.", at=datetime(2023, 5, 8, tzinfo=timezone.utc)),
        said("We took the blue ferry.", at=datetime(2023, 6, 8, tzinfo=timezone.utc)),
        said("We took the grey ferry.", at=datetime(2024, 5, 31, 23, tzinfo=timezone.utc)),
    )

    @pytest.mark.parametrize(
        ("query", "favoured"),
        [
            ("Which ferry did we take in May 2023?", {"green"}),
            ("Which ferry did we take in May?", {"green", "grey"}),
            ("Which ferry did we take?", set()),
        ],
    )
    def test_named(self, open_turns, query, favoured):
        """What happened in a month that the question names gains what the configuration says."""
        gains, told = gained(open_turns, self.ITEMS, query, month=0.2)
        assert {text.split()[3] for text, gain in gains.items() if gain == 0.2} == favoured
        assert sum(gain == 0 for gain in gains.values()) == 3 - len(favoured)
        assert {text.split()[3] for text, gain in told.items() if gain == 0.2} == favoured


class TestSpeaker:
    ITEMS = (said("I took the green ferry.", "Ann Lee"), said("I took the blue ferry.", "Bob"))

    @pytest.mark.parametrize(
        ("query", "favoured"),
        [
            ("Which ferry did Ann take?", "I took the green ferry."),
            ("Which ferry did bob take?", "I took the blue ferry."),
        ],
    )
    def test_named(self, open_turns, query, favoured):
        """What the only speaker said whom the question names gains what the configuration says."""
        gains, told = gained(open_turns, self.ITEMS, query, speaker=0.05)
        assert [text for text, gain in gains.items() if gain == 0.05] == [favoured]
        assert told[favoured] == 0.05

    @pytest.mark.parametrize("query", ["Which ferry did Ann and Bob take?", "Which ferry was it?"])
    def test_both_or_nobody(self, open_turns, query):
        """Where the question names both, or nobody, nothing is gained."""
        gains, _ = gained(open_turns, self.ITEMS, query, speaker=0.05)
        assert set(gains.values()) == {0}


class TestQuestion:
    def test_loses(self, open_turns):
        """A turn that asks comes after one that tells, by what the configuration says."""
        items = (said("Did we take the ferry?"), said("We took the ferry."))
        gains, told = gained(open_turns, items, QUESTION, question=0.1)
        assert gains == {"Did we take the ferry?": -0.1, "We took the ferry.": 0}
        assert told == {"Did we take the ferry?": -0.1, "We took the ferry.": None}


class TestConfiguration:
    @pytest.mark.parametrize("rule", RULES)
    def test_refused(self, rule):
        """A rule counts from 0, which switches it off, to 1."""
        for value in (-0.1, 1.1, float("nan"), "much"):
            with pytest.raises(ConfigError, match=rule):
                EpisodicConfig(**{rule: value})

    @pytest.mark.parametrize("rule", RULES)
    def test_mode_vector_has_none(self, open_memory, rule):
        """In mode `vector` the score is the formula of the tier, whatever the rules are."""
        items = [said("Did we take the ferry in May?", "Ann", "a"), said("No.", "Bob", "a")]
        query = "What did Ann take in March 2026?"
        mem = open_memory(episodic={rule: 1})
        with frozen():
            mem.remember(items)
            (first, second) = mem.recall(query, threshold=-1)
        assert first.score == second.score == pytest.approx(0.7 * first.similarity + 0.3)
        assert set(first.why) == {"similarity", "recency"}


class TestSpokenWords:
    """An episode is embedded and indexed with its speaker's name before it."""

    @pytest.fixture
    def mem(self, open_memory, embedder):
        mem = open_memory(mode="text")
        mem.count()
        embedder.calls.clear()
        return mem

    def test_embedded_with_the_speaker(self, mem, embedder):
        """The speaker whom the metadata names stands before the text that is embedded, in episodes only."""
        mem.remember([said("Hello.", "Ann"), said("Hello there."), MemoryItem("Hi.", metadata={"speaker": "Ann"})])
        assert embedder.calls == [["Ann: Hello.", "Hello there.", "Hi."]]

    def test_found_by_the_speaker(self, mem):
        """A turn is found by its speaker's name; the text itself stays as it was said."""
        mem.remember([said("I like tea.", "Ann"), said("I like milk.", "Bob")])
        (hit,) = mem.recall("Ann")
        assert (hit.text, hit.metadata) == ("I like tea.", {"speaker": "Ann"})

    def test_another_speaker(self, mem, embedder):
        """An update that changes the speaker embeds anew, and one of other metadata doesn't."""
        mem.remember(said("I like tea.", "Ann", id="x"))
        embedder.calls.clear()
        mem.update("x", "episodic", metadata={"mood": "good"})
        assert embedder.calls == []
        mem.update("x", "episodic", metadata={"speaker": "Bob"})
        assert embedder.calls == [["Bob: I like tea."]]
        assert (mem.recall("Ann"), texts(mem.recall("Bob"))) == ([], ["I like tea."])
        mem.update("x", "episodic", text="I like milk.")
        assert embedder.calls[1:] == [["Bob: I like milk."]]
        assert texts(mem.recall("Bob")) == ["I like milk."]

    def test_said_again_by_another(self, mem):
        """What another speaker says again at the same id is found by that speaker."""
        mem.remember(said("I like tea.", "Ann"))
        mem.remember(said("I like tea.", "Bob"))
        assert (mem.recall("Ann"), texts(mem.recall("Bob"))) == ([], ["I like tea."])
