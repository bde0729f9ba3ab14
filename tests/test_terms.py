"""The terms by which words are found: folded, stemmed, without stop words, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tiered_memory.terms import STOP_WORDS, asked_terms, terms


class TestWords:
    @pytest.mark.parametrize(
        ("text", "found"),
        [
            ("Ships, shipping; shipped!", ["ship"] * 3),
            ("The tests are running on it", ["test", "run"]),
            ("node.js v2.0, part-of-speech", ["node", "js", "v2", "0", "part", "speech"]),
            ("Don't touch Ann's O'Brien", ["touch", "ann", "obrien"]),
            ("Don\u2019t touch Ann\u2019s", ["touch", "ann"]),
            ("x@y.org costs 50%", ["x", "y", "org", "cost", "50"]),
            ("Straße, ÉCOLE, ﬁne, ２０２６", ["strass", "école", "fine", "2026"]),
            ("Привет, мир", ["привет", "мир"]),
        ],
    )
    def test_folded_and_stemmed(self, text, found):
        """A word is folded, freed of apostrophes and stemmed; what is no letter, mark or number separates."""
        assert terms(text) == found

    def test_stop_words(self):
        """Function words and question words say nothing."""
        assert terms("What did you say about it, and when was that?") == []
        assert all(terms(word) == [] for word in STOP_WORDS)

    def test_repeated(self):
        """A term is there as often as its word is."""
        assert terms("tea, tea and more tea") == ["tea"] * 3

    def test_long(self):
        """Words that are long beyond all use are found by their first 64 characters."""
        assert terms("x" * 100) == ["x" * 64]

    @settings(deadline=None, derandomize=True)
    @given(st.text())
    def test_normal_form(self, text):
        """Composed and decomposed forms of a text have the same terms, in any case."""
        decomposed = unicodedata.normalize("NFD", text)
        assert terms(decomposed) == terms(text) == terms(unicodedata.normalize("NFC", text))

    @settings(deadline=None, derandomize=True)
    @given(st.text())
    @example("\x00\u2028\ud7a3٣ǅ")
    def test_plain(self, text):
        """A term of any text is neither empty nor has a space or a mark of punctuation in it."""
        for term in terms(text):
            assert term
            assert all(unicodedata.category(character)[0] in "LMN" for character in term)


class TestWithoutSpaces:
    def test_characters_and_pairs(self):
        """A run of a script without spaces has its characters and its pairs for terms."""
        assert terms("東京都") == ["東", "京", "都", "東京", "京都"]

    def test_mixed(self):
        """A run that goes over into another script ends there."""
        assert terms("私はPythonで") == ["私", "は", "私は", "python", "で"]

    def test_asked(self):
        """Of a question's run only the pairs are looked for, of a single character itself."""
        assert asked_terms("東京都 猫", 9) == ["東京", "京都", "猫"]

    @pytest.mark.parametrize("text", ["ภาษาไทย", "한국어를", "ລາວ", "မြန်မာ", "ខ្មែរ", "ひらがな", "カタカナ", "漢字"])
    def test_scripts(self, text):
        """Thai, Korean, Lao, Burmese, Khmer and Japanese count as such."""
        assert len(terms(text)) > 1
        assert set(asked_terms(text, 99)) <= set(terms(text))


class TestAsked:
    def test_different(self):
        """What is asked for twice is looked for once, in the order of the question."""
        assert asked_terms("Tea or coffee, and tea again?", 9) == ["tea", "coffe"]

    def test_bounded(self):
        """Only the first terms of a long question are looked for."""
        assert asked_terms("one two three four", 2) == ["one", "two"]

    @settings(deadline=None, derandomize=True)
    @given(st.text())
    def test_among_its_own(self, text):
        """What a text is asked by is among its terms, so that it finds itself."""
        assert set(asked_terms(text, 1000)) <= set(terms(text))
