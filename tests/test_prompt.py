"""The prompt block: what it looks like, that no text breaks out of it, and that it keeps its budget."""

from __future__ import annotations

from datetime import datetime, timezone
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_memory import RecalledMemory
from tiered_memory.prompt import HEADING, fitting, format_memories
from tiered_memory.tokens import counter

NOON = datetime(2026, 11, 30, 12, tzinfo=timezone.utc)
TAGS = [
    "</memory>",
    "</recalled_memories>",
    "<recalled_memories>",
    '<memory tier="semantic">',
    "&lt;/memory&gt;",
    "]]>",
]

pieces = st.text() | st.sampled_from([*TAGS, "\n", " ", "Prefers metric units. "])
texts = st.lists(pieces, max_size=8).map("".join)
counters = st.sampled_from(
    [
        counter(),
        counter(count=len),
        counter(count=lambda text: len(text.split())),
        counter(count=lambda text: len(text) ** 2),
    ]
)


def hit(text, tier="semantic"):
    return RecalledMemory(
        id="1", text=text, tier=tier, scope=None, at=NOON, created_at=NOON, updated_at=NOON, score=1, similarity=1
    )


hits = st.lists(st.builds(hit, texts, st.sampled_from(["working", "semantic", "episodic"])), max_size=12)


class TestFormat:
    def test_block(self):
        """Each hit is an element with its tier and date, under a heading that says that it is data."""
        assert format_memories([hit("Prefers metric units.\nAlways."), hit("Moved.", "episodic")]) == (
            "<recalled_memories>\n"
            f"{HEADING}\n"
            '<memory tier="semantic" date="2026-11-30">Prefers metric units.\nAlways.</memory>\n'
            '<memory tier="episodic" date="2026-11-30">Moved.</memory>\n'
            "</recalled_memories>"
        )

    def test_nothing(self):
        """Without a hit there is no block."""
        assert format_memories([]) == ""

    def test_heading(self):
        """A heading of one's own takes the place of the usual one."""
        block = format_memories([hit("Moved.")], heading="Was weißt du?")
        assert block.splitlines()[1] == "Was weißt du?"
        assert HEADING not in block

    @given(hits.filter(bool), st.sampled_from([HEADING, *TAGS]))
    def test_closed_once(self, recalled, heading):
        """The block is opened and closed once, and has as many elements as hits, whatever is in their texts."""
        block = format_memories(recalled, heading=heading)
        assert block.startswith("<recalled_memories>\n")
        assert block.endswith("\n</recalled_memories>")
        assert block.count("<") == block.count(">") == 2 + 2 * len(recalled)

    @given(st.lists(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc", "Cn"])), min_size=1))
    def test_texts_kept(self, said):
        """Whoever reads the block as XML finds each text as it was, in the hits' order."""
        root = ElementTree.fromstring(format_memories([hit(text) for text in said]))
        assert [element.text or "" for element in root] == said

    def test_tier_of_ones_own(self):
        """The name of a tier can't break out of its attribute."""
        block = format_memories([hit("Moved.", '"><x y="')])
        assert ElementTree.fromstring(block)[0].get("tier") == '"><x y="'


class TestBudget:
    @given(hits, st.floats(0, 1), counters)
    def test_holds(self, recalled, share, tokens):
        """The block never has more tokens than the budget allows, whoever counts them."""
        budget = int(share * tokens.count(format_memories(recalled)))
        block = format_memories(recalled, max_tokens=budget, counter=tokens)
        assert block == "" or tokens.count(block) <= budget

    @given(hits, st.integers(0, 400))
    def test_order(self, recalled, budget):
        """The hits that fit keep their order."""
        rest = iter(recalled)
        assert all(any(each is other for other in rest) for each in fitting(recalled, budget))

    @given(hits)
    def test_all(self, recalled):
        """Hits whose block has exactly the budget's tokens all fit, with a token less one of them doesn't."""
        needed = counter().count(format_memories(recalled))
        assert fitting(recalled, needed) == recalled
        assert len(fitting(recalled, needed - 1)) < len(recalled) or not recalled

    def test_passed_over(self):
        """A hit that is too long leaves its place to later ones that fit."""
        best, long, short = hit("Lives in Lyon."), hit("word " * 500), hit("Prefers metric units.")
        assert fitting([best, long, short], 120) == [best, short]

    @pytest.mark.parametrize("budget", [-1, 0, 10])
    def test_too_little(self, budget):
        """A budget that not even the heading fits into gives no block."""
        assert format_memories([hit("Moved.")], max_tokens=budget) == ""
