"""The months that a text names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiered_memory.months import named_months


class TestNames:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("What did we do in May?", (None, 5)),
            ("what happened in june", (None, 6)),
            ("on 8 May 2023", (2023, 5)),
            ("since March 3rd, 2024", (2024, 3)),
            ("Sept. 3rd was fine", (None, 9)),
            ("the end of December of 2021", (2021, 12)),
            ("DECEMBER 2021", (2021, 12)),
            ("on Feb 28", (None, 2)),
            ("May 2023 was warm", (2023, 5)),
            ("January went by", (None, 1)),
            ("released on 2023-05-08", (2023, 5)),
            ("in 2023-11", (2023, 11)),
        ],
    )
    def test_one(self, text, found):
        """A month is named in full, cut short, with a day, with a year, or as a date in figures."""
        assert named_months(text) == {found}

    def test_several(self):
        """All months are found that a text names."""
        assert named_months("Between June and 5 July 2022, or in 2021-08") == {(None, 6), (2022, 7), (2021, 8)}


class TestOtherWords:
    @pytest.mark.parametrize(
        "text",
        [
            "May I go?",
            "you may go",
            "they march on",
            "March on!",
            "we sat there",
            "a decent marble junction",
            "Marching on, Mayor",
            "12023-05",
            "2023-13-01",
            "dec the halls",
            "",
        ],
    )
    def test_none(self, text):
        """What only looks like a month's name is none."""
        assert named_months(text) == frozenset()

    @settings(deadline=None, derandomize=True)
    @given(st.text())
    def test_range(self, text):
        """Whatever the text, a month is 1 to 12, and a year one of this or the last century."""
        for year, month in named_months(text):
            assert 1 <= month <= 12
            assert year is None or 1900 <= year <= 2099

    @pytest.mark.parametrize("word", ["jan", "feb", "apr", "jun", "jul", "aug", "oct", "nov", "dec"])
    def test_short_names_are_capitalised(self, word):
        """A name that is cut short counts only when it is capitalised."""
        assert named_months(f"in {word} we met") == frozenset()
        assert len(named_months(f"in {word.capitalize()} we met")) == 1
