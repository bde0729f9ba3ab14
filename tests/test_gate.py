"""The gate: which claims are sent to review by themselves, and why."""

from __future__ import annotations

import pytest
from claims import claim, fact, life, outcomes, waiting

from tiered_memory import ConfigError, GateConfig, InvalidItem


def reasons(answers):
    """Why each of several items waits; None for those that don't."""
    return [each.reason for each in answers]


class TestConfidence:
    def test_below_the_floor(self, open_memory):
        """A claim with less confidence than the floor waits, with the reason shown; one that reaches it doesn't."""
        mem = open_memory(gate=GateConfig(confidence_floor=0.3))
        answers = mem.remember([fact("near", id="a", confidence=0.29), fact("far", id="b", confidence=0.3)])
        assert outcomes(answers) == ["queued", "recorded"]
        assert reasons(answers) == ["confidence below 0.3", None]
        assert mem.review.pending().items[0].candidate.reason == "confidence below 0.3"
        assert mem.get("a", "semantic") is None

    def test_the_reason_stays(self, open_memory):
        """The reason is part of the history of what was promoted in spite of it."""
        mem = open_memory(gate=GateConfig(confidence_floor=0.3))
        mem.remember(fact("near", confidence=0.1))
        assert mem.review.promote("x", "semantic").reason == mem.get("x", "semantic").reason == "confidence below 0.3"


class TestRepeating:
    def test_what_is_believed(self, open_memory):
        """A doubtful claim that only repeats what stands at its id reaffirms it: there is nothing to review."""
        mem = open_memory(gate=GateConfig(confidence_floor=0.3))
        mem.remember(fact("near", confidence=0.9))
        (answer,) = mem.remember(fact("near", confidence=0.1))
        assert (answer.outcome, answer.reason) == ("reaffirmed", None)
        assert mem.get("x", "semantic").confidence == 0.9
        assert mem.review.pending().items == []


class TestSources:
    def test_of_doubtful_ones(self, open_memory):
        """Claims of the sources that are named wait, and no others."""
        mem = open_memory(gate={"review_sources": ["extractor", "web"]})
        answers = mem.remember(
            [fact("near", id=source, source=source) for source in ("extractor", "web", "Web", "user")]
        )
        assert reasons(answers) == ["source extractor", "source web", None, None]


class TestRule:
    def test_of_ones_own(self, open_memory):
        """A rule sees the item and says why it waits, or lets it pass."""
        seen = []

        def rule(item):
            seen.append((item.text, item.scope, item.tier))
            return "looks like a guess" if "?" in item.text else None

        mem = open_memory(gate=GateConfig(rule=rule))
        answers = mem.scoped("a").remember([fact("exact?", id="a"), fact("near", id="b")])
        assert reasons(answers) == ["looks like a guess", None]
        assert [text for text, *_ in seen] == ["exact?", "near"]

    @pytest.mark.parametrize("answer", ["", 1, True])
    def test_that_gives_no_reason(self, open_memory, answer):
        """What a rule answers must be a reason or None, else nothing is written."""
        mem = open_memory(gate=GateConfig(rule=lambda item: answer))
        with pytest.raises(InvalidItem, match="reason"):
            mem.remember(fact("near"))
        assert (mem.count(), waiting(mem)) == (0, [])

    def test_that_fails(self, open_memory):
        """What a rule raises reaches the caller, and nothing is written."""
        mem = open_memory(gate=GateConfig(rule=lambda item: 1 / 0))
        with pytest.raises(ZeroDivisionError):
            mem.remember([fact("near", id="a"), fact("far", id="b")])
        assert (mem.count(), waiting(mem)) == (0, [])


class TestNearDuplicates:
    def gated(self, open_memory, bound=0.8):
        return open_memory(gate=GateConfig(near_duplicate=bound))

    def test_of_another_id(self, open_memory):
        """A claim as near as the bound to an active memory of another id waits, and the reason names that."""
        mem = self.gated(open_memory)
        assert reasons(mem.remember(fact("exact", id="a"))) == [None]
        assert reasons(mem.remember([fact("near", id="b"), fact("edge", id="c")])) == ["near_duplicate of a", None]
        assert waiting(mem) == ["near"]

    def test_of_its_own_id(self, open_memory):
        """A new text at an id isn't a duplicate of the one it takes the place of."""
        mem = self.gated(open_memory)
        mem.remember(fact("exact"))
        assert outcomes(mem.remember(fact("near"))) == ["superseded"]

    def test_of_both(self, open_memory):
        """A new text at an id that is near to another id's as well waits."""
        mem = self.gated(open_memory)
        mem.remember([fact("exact", id="a")])
        mem.remember(fact("orth"))
        assert reasons(mem.remember(fact("near"))) == ["near_duplicate of a"]

    def test_that_was_approved(self, open_memory):
        """Repeating a near duplicate that a review let pass reaffirms it."""
        mem = self.gated(open_memory)
        mem.remember(fact("exact", id="a"))
        mem.remember(fact("near", id="b"))
        mem.review.promote("b", "semantic")
        assert outcomes(mem.remember([fact("near", id="b"), fact("exact", id="a")])) == ["reaffirmed"] * 2

    @pytest.mark.parametrize("other", [{"scope": "a"}, {"tier": "episodic"}], ids=["scope", "tier"])
    def test_elsewhere(self, open_memory, other):
        """What lies in another scope or tier is no duplicate."""
        mem = self.gated(open_memory)
        mem.remember(fact("exact", id="a"))
        assert outcomes(mem.remember(fact("exact", id="b", **other))) == ["recorded"]

    def test_of_what_is_not_active(self, open_memory):
        """What waits, was superseded, or has been forgotten makes no duplicate."""
        mem = self.gated(open_memory)
        mem.remember(claim("exact", id="a"))
        mem.remember([fact("exact", id="b"), fact("neg", id="b")])
        assert outcomes(mem.remember(fact("exact", id="d"))) == ["recorded"]
        mem.forget("d", "semantic")
        assert outcomes(mem.remember(fact("exact", id="e"))) == ["recorded"]

    def test_costs_one_search(self, open_memory, embedder):
        """The look for duplicates embeds nothing more than the write itself."""
        mem = self.gated(open_memory)
        mem.remember([fact("exact", id="a"), fact("orth", id="b")])
        assert embedder.calls == [["exact", "orth"]]


class TestTogether:
    def gated(self, open_memory):
        gate = {"confidence_floor": 0.3, "review_sources": ["bot"], "rule": lambda item: "mine", "near_duplicate": 0.9}
        return open_memory(gate=gate)

    def test_the_first_that_applies(self, open_memory):
        """Of several rules the first that applies gives the reason: confidence, source, one's own, likeness."""
        mem = self.gated(open_memory)
        batch = [
            fact("near", id="a", confidence=0, source="bot"),
            fact("far", id="b", source="bot"),
            fact("orth", id="c"),
        ]
        assert reasons(mem.remember(batch)) == ["confidence below 0.3", "source bot", "mine"]

    def test_what_waits_anyway(self, open_memory):
        """A candidate and a note pass the gate as they are."""
        mem = self.gated(open_memory)
        answers = mem.remember([claim("near", confidence=0), fact("exact", tier="working", source="bot")])
        assert (outcomes(answers), reasons(answers)) == (["queued", "recorded"], [None, None])

    def test_again(self, open_memory):
        """A gated claim that is made again is not queued twice, and leaves the active memory alone."""
        mem = open_memory(gate=GateConfig(review_sources={"bot"}))
        mem.remember(fact("near"))
        answers = [mem.remember(fact("exact", source="bot"))[0] for _ in range(2)]
        assert (outcomes(answers), reasons(answers)) == (["queued", "already_queued"], ["source bot"] * 2)
        assert life(mem) == [("near", "active"), ("exact", "candidate")]

    def test_nothing_is_gated_by_default(self, mem):
        """Without a configured gate nothing waits that doesn't say so itself."""
        answers = mem.remember([fact("exact", id="a", confidence=0), fact("exact", id="b", source="bot")])
        assert outcomes(answers) == ["recorded"] * 2


class TestConfig:
    @pytest.mark.parametrize(
        "settings",
        [{"confidence_floor": 1.1}, {"confidence_floor": "high"}, {"near_duplicate": 2}, {"review_sources": "bot"}],
    )
    def test_outside_its_range(self, settings):
        """A setting outside its range is refused by its name."""
        with pytest.raises(ConfigError, match=next(iter(settings))):
            GateConfig(**settings)
