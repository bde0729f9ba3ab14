"""Names by their capital letters: what chat is about, told from what only begins a sentence."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_memory.graph import EntityRef, PatternExtractor
from tiered_memory.graph.patterns import FINDS


def names(text, *find):
    """The names that are found, in their order."""
    return [entity.name for entity in PatternExtractor(find or ["name"]).extract(text)]


class TestWhatIsAName:
    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ("we flew to New York.", "new york"),
            ("my friend Bob lives there", "bob"),
            ("I'm Ana", "ana"),
            ("with O'Brien", "o'brien"),
            ("by Anna-Maria Müller", "anna-maria müller"),
            ("the University of the Arts", "university of the arts"),
            ("говорили с Ольгой Ивановой", "ольгой ивановой"),
            ("on my iPhone", "iphone"),
            ("my sister (Ana) came", "ana"),
            ("in 2023 Ana came", "ana"),
        ],
    )
    def test_within_a_sentence(self, text, name):
        """Capitalised words within a sentence are a name, in whatever script has capitals."""
        assert names(text) == [name]

    @pytest.mark.parametrize("text", ["iPhone sales fell", "Ana Lee came", "McDonald came"])
    def test_beginning_a_sentence(self, text):
        """At a sentence's start, several words are a name, and so is one whose capital isn't only its first letter."""
        assert len(names(text)) == 1

    @pytest.mark.parametrize("text", ["Ana came", "So, well… Ana came", "- Ana came\n- Rome fell"])
    def test_alone_at_a_start(self, text):
        """A word alone at a sentence's start may have its capital from there: it isn't a name unless that is wanted."""
        assert names(text) == []
        assert names(text, "opener")[0] == "ana"

    def test_known_from_elsewhere(self):
        """A name that begins one sentence is found when it stands within another."""
        assert names("Rome is far. I love Rome.") == ["rome"]

    def test_combining_accents(self):
        """An accent on its own belongs to its letter, so that both ways to write a name are one."""
        assert names("by Rene\u0301 Ortiz") == names("by Ren\u00e9 Ortiz") == ["ren\u00e9 ortiz"]


class TestWhatBeginsAName:
    @pytest.mark.parametrize(
        "text",
        [
            "Hey Ana!",
            "Wow, thanks. Thanks Ana",
            "Yesterday Ana came",
            "On Monday Ana left",
            "Will Ana come?",
            "Here's Ana",
            "What did Ana do on 8 May, 2023?",
            "and then, The Ana",
        ],
    )
    def test_words_that_say_nothing(self, text):
        """Greetings, days and function words before a name aren't part of it."""
        assert names(text) == ["ana"]

    @pytest.mark.parametrize("text", ["Last Friday we met", "see you Next June", "in April", "Hey Monday"])
    def test_only_a_time(self, text):
        """Days and months alone are no name."""
        assert names(text, "name", "opener") == []

    def test_months_that_are_first_names(self):
        """A month before another name is somebody's first name."""
        assert names("I met April Jones and the Last of Us") == ["april jones", "last of us"]


class TestWhereANameEnds:
    def test_possessive(self):
        """What belongs to somebody is a name of its own."""
        assert names("we saw Ana's Ferrari and Rome’s Piazza Navona") == ["ana", "ferrari", "rome", "piazza navona"]

    @pytest.mark.parametrize("text", ["at Google. He left", "at Google.He left", "at Google… Rome", "at Google\nRome"])
    def test_sentence(self, text):
        """A name ends with its sentence."""
        assert names(text) == ["google"]

    @pytest.mark.parametrize(
        ("texts", "name"),
        [
            (["by J. K. Rowling", "by J.K. Rowling", "by J.K.Rowling"], "jk rowling"),
            (["with Dr. Rivera", "with Dr Rivera", "Dr. Rivera came"], "dr rivera"),
            (["in St. Petersburg", "in St Petersburg"], "st petersburg"),
            (["in the U.K.", "in the UK"], "uk"),
        ],
    )
    def test_full_stops(self, texts, name):
        """Full stops after initials and titles end no sentence, and make no other name."""
        assert [names(text) for text in texts] == [[name]] * len(texts)

    def test_shouting(self):
        """More than eight capitalised words in a row are no name."""
        assert names("so THIS GUY KEEPS SHOUTING VERY LOUD EVERY SINGLE MORNING HERE") == []


class TestAnyText:
    @given(st.text(st.characters(codec=None, categories=None)) | st.text("Aa.'’- &of\u0301\0\ud800I1\n"))
    def test_unicode(self, text):
        """Any text can be searched, also one that isn't valid Unicode, and what is found comes once."""
        found = PatternExtractor(FINDS).extract(text, [EntityRef("person", "Ana")])
        assert len(set(found)) == len(found)

    @pytest.mark.parametrize(
        "part",
        [
            "A. ",
            "A.",
            "Aa' ",
            "Dr. ",
            "Aa of the ",
            "A\u0301\u0316",
            "\u0301\u0316",
            "Aa\t",
            "Aa-",
            "!",
            "Aa's ",
            "I. ",
        ],
    )
    def test_hostile(self, part):
        """The time grows with the length of the text, whatever is repeated in it."""

        def seconds(length):
            text = "see https://x" + part * (length // len(part)) + " Aa"
            start = perf_counter()
            PatternExtractor(FINDS).extract(text)
            return perf_counter() - start

        short, long = (min(seconds(length) for _ in range(3)) for length in (10_000, 80_000))
        assert long < 24 * short + 0.05, "eight times the text may take eight times as long, not sixty-four"
