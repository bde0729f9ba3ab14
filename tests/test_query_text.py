"""The text of a query is data: whatever is in it, it finds by its words and its meaning, and nothing else."""

from __future__ import annotations

import unicodedata
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from shorthand import TIERS, texts

from tiered_memory.terms import asked_terms

MODES = ("vector", "text", "hybrid")
BY_WORDS = pytest.mark.parametrize("how", ["text", "hybrid"])


@pytest.fixture
def mem(open_memory):
    return open_memory(mode="hybrid")


class TestOperators:
    ODD = (
        "@text:{x} | -green", "(~ferry)=>{$weight:9}", "*=>[KNN 9 @vector $vector]", '"green ferry"', "fe*", "%ferri%",
        "w'fer?y'", "\\", "\\\\", "'", '"', "|", "-", "~", "$term", "$vector", "@terms:$term1", "[-inf +inf]",
        "@at:[0 inf]", "ismissing(@terms)", "=>{$slop:1}", "{$weight:nan}", "%s %d %.6f", "a\x00b", "\x00", "\x1b[31m",
        "a-b", "a.b", "x@y", "50%", "{}", "\n\r\t", "🍵", "\u202e\u200d", "\ufeff", "\ufffe", "\ud7ff", "NOT green OR",
    )  # fmt: skip

    @pytest.mark.parametrize("how", MODES)
    def test_mean_nothing(self, mem, how):
        """Operators of the query language, quotes, backslashes and control characters mean nothing and fail nothing."""
        for tier in TIERS[1:]:
            mem.remember("A green door.", tier=tier)
        for odd in self.ODD:
            found = mem.recall(odd, mode=how, threshold=None if how == "text" else 0.999999)
            assert texts(found) == (["A green door."] * 3 if how == "text" and "green" in odd else []), odd

    @BY_WORDS
    def test_their_words_count(self, mem, how):
        """Between operators a word is a word."""
        mem.remember("The ferry leaves.")
        for query in (
            "-ferry",
            "@x:{ferry}",
            "(ferry|",
            '"ferry',
            "ferry*",
            "~ferry",
            "\\ferry",
            "a\x00ferry\x00",
            "'ferry'",
        ):
            assert texts(mem.recall(query, mode=how)) == ["The ferry leaves."], query

    @BY_WORDS
    def test_one_of_them_suffices(self, mem, how):
        """A question finds what shares one of its words; what shares more of them comes first."""
        mem.remember(["The green ferry.", "The green door.", "A soup."])
        found = texts(mem.recall("Which ferry is green, please?", mode="text"))
        assert found == ["The green ferry.", "The green door."]


class TestSize:
    @pytest.mark.parametrize("how", MODES)
    def test_long(self, mem, how):
        """A query of ten thousand characters, or of thousands of words, is answered like any other."""
        mem.remember("The ferry leaves.")
        for query in ("ferry " + "x" * 10_000, "ferry " + " ".join(f"w{n}" for n in range(3000)), "ferry " * 2000):
            found = mem.recall(query, mode=how)
            assert how == "vector" or texts(found) == ["The ferry leaves."]

    @BY_WORDS
    def test_long_words(self, mem, how):
        """A word that is long beyond all use is found as well."""
        word = "ab" * 3000
        mem.remember(f"It says {word}.")
        assert len(mem.recall(word, mode=how)) == 1


class TestWithoutWords:
    @pytest.mark.parametrize("query", ["What is it that you were?", "?!", "🍵", "\x00", "—"])
    def test_similarity_decides(self, mem, embedder, query):
        """Stop words only, or no words at all: nothing is found by words, and similarity alone decides."""
        embedder.table |= {query: embedder.table["q"]}
        mem.remember(["exact", "near", "orth"])
        assert mem.recall(query, mode="text") == []
        assert texts(mem.recall(query)) == ["exact", "near"]


class TestLanguages:
    JAPANESE = "私はPythonでADKを使っています"

    @BY_WORDS
    @pytest.mark.parametrize("query", ["Python", "ADK", "使って", "adkを", "私"])
    def test_japanese(self, mem, how, query):
        """Text without spaces is found by the words in it, also where scripts are mixed."""
        mem.remember([self.JAPANESE, "昨日はスープを飲みました"])
        assert self.JAPANESE in texts(mem.recall(query, mode=how))
        assert texts(mem.recall(query, mode="text"))[0] == self.JAPANESE

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("我昨天在北京坐了渡轮", "渡轮几点开"),
            ("เรือข้ามฟากออกจากท่าเรือเก้า", "ท่าเรืออยู่ที่ไหน"),
            ("페리는 아홉 번 부두에서 출발합니다", "부두가 어디예요"),
            ("フェリーは九番埠頭から出ます", "フェリーの時刻"),
            ("Паром отходит от девятого причала", "где ПАРОМ"),
            ("Το πλοίο φεύγει στις εννέα", "ΠΛΟΊΟ"),
            ("العبارة تغادر من الرصيف التاسع", "الرصيف"),
            ("नौका घाट से निकलती है", "घाट"),
        ],
    )
    def test_others(self, mem, text, query):
        """A question finds what shares its words in other languages, with spaces or without."""
        mem.remember(
            [text, "昨日汤很冷", "เมื่อวานฝนตก", "어제 비가 왔다", "Вчера шёл дождь", "بالأمس", "कल बारिश हुई", "χθες"]
        )
        assert texts(mem.recall(query, mode="text")) == [text]

    @BY_WORDS
    @pytest.mark.parametrize(("stored", "asked"), [("NFC", "NFD"), ("NFD", "NFC")])
    def test_normal_forms(self, mem, how, stored, asked):
        """Composed and decomposed forms find each other."""
        text = unicodedata.normalize(stored, "Das Café Zoë liegt in Đà Nẵng.")
        mem.remember(text)
        for query in ("café", "ZOË", "nẵng"):
            assert texts(mem.recall(unicodedata.normalize(asked, query), mode=how)) == [text]


class TestAnyText:
    numbers = count()

    @settings(
        max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
    )
    @given(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip),
        st.sampled_from(MODES),
    )
    @example("ꭰꮀ Ⅷ ª ﷺ İı ß", "text")
    def test_finds_itself(self, mem, text, how):
        """Any text finds itself: by its words, if it has any, and by its meaning."""
        scope = mem.scoped(str(next(self.numbers)))
        scope.remember(text)
        found = scope.recall(text, mode=how)
        assert texts(found) == ([] if how == "text" and not asked_terms(text, 1) else [text])
