"""The logic of the benchmark of recall quality, on a tiny conversation."""

from __future__ import annotations

import json
import sys
from math import log2
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import baselines
import conversations
import generated
import measures
import quality
import variants

from tiered_memory import memory
from tiered_memory.embedders import StaticEmbedder

SAID = [
    ("Ann", "We painted the kitchen green last weekend"),
    ("Ben", "Which colour has the bathroom?"),
    ("Ann", "The bathroom stays white for now"),
    ("Ben", "My sister adopted a tortoise"),
    ("Ann", "What does the tortoise eat?"),
    ("Ben", "It likes dandelions and cucumber"),
]
OBSERVED = ["Ann painted the kitchen green", "Ben's sister has a tortoise"]
ASKED = [
    {"question": "Which colour is the kitchen?", "category": "single_hop", "evidence": ["c1:D1:1", "c1:D2:1"]},
    {"question": "Who adopted a tortoise?", "category": "adversarial", "evidence": ["c1:D1:4"]},
    {"question": "Why?", "category": "open_domain", "evidence": []},
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A conversation of two sessions, facts from it and a pair in other words, as the benchmark reads them."""
    turns = [
        {
            "id": f"c1:D{session}:{turn}", "scope": "c1", "session": session, "turn": turn,
            "time": f"2026-0{session}-01T10:00:00Z", "speaker": speaker, "text": text,
        }
        for session in (1, 2)
        for turn, (speaker, text) in enumerate(SAID, 1)
    ]  # fmt: skip
    facts = [
        {"id": f"c1:O{place}", "scope": "c1", "time": turns[0]["time"], "text": text, "sources": [f"c1:D1:{source}"]}
        for place, (text, source) in enumerate(zip(OBSERVED, (1, 4), strict=True))
    ]
    pair = {"id": "p1", "memory": "Peanuts make me ill", "question": "Which food must be avoided?"}
    files = {
        "a_memories": turns, "a_questions": [row | {"scope": "c1"} for row in ASKED], "a_observations": facts,
        "a_probe": [pair],
    }  # fmt: skip
    for name, rows in files.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


class TestLoad:
    def test_turns(self, folder):
        """Turns are strictly in order and carry speaker and session; questions without evidence are left out."""
        (conversation,) = conversations.load_turns(folder)
        times = [turn.at for turn in conversation.memories]
        assert times == sorted(set(times))
        assert conversation.end == times[-1]
        first = conversation.memories[0].item("episodic")
        assert first.text == SAID[0][1]
        assert first.metadata == {"speaker": "Ann", "conversation": "c1:1"}
        assert conversation.memories[0].described == f"Ann: {SAID[0][1]}"
        assert [question.category for question in conversation.questions] == ["single_hop", "adversarial"]

    def test_facts(self, folder):
        """The evidence among facts is what the evidence among turns gave rise to."""
        (facts,) = conversations.load_facts(folder)
        assert facts.tier == "semantic"
        assert [question.evidence for question in facts.questions] == [{"c1:O0"}, {"c1:O1"}]

    def test_probe(self, folder, monkeypatch):
        """The pairs come first, as old as the first turn and without metadata, and then so many turns."""
        monkeypatch.setattr(conversations, "_AMONG", 5)
        (probe,) = conversations.load_probe(folder)
        assert [memory.id for memory in probe.memories[:2]] == ["p1", "c1:D1:1"]
        assert len(probe.memories) == 6
        assert probe.memories[0].at == probe.memories[1].at
        assert probe.memories[0].item("episodic").metadata == {}

    def test_nothing(self, tmp_path):
        """What a folder doesn't hold isn't measured."""
        assert all(load(tmp_path) == [] for load in quality.LOADED.values())


class TestMeasures:
    def test_figures(self):
        """Recall is the share of the evidence, the rank that counts is the first one, and early evidence gains more."""
        found = [*"abcde", "right", *"fghij", "late"]
        figures = measures.figures(found, frozenset(["right", "late", "missing"]))
        assert figures["recall@5"] == 0
        assert figures["recall@10"] == pytest.approx(1 / 3)
        assert figures["recall@20"] == pytest.approx(2 / 3)
        assert figures["MRR"] == pytest.approx(1 / 6)
        assert figures["nDCG@10"] == pytest.approx(1 / log2(7) / (1 + 1 / log2(3) + 1 / log2(4)))

    def test_perfect(self):
        """A list that begins with all of the evidence is as good as can be."""
        figures = measures.figures(["a", "b", "c"], frozenset(["a", "b"]))
        assert set(figures.values()) == {1}

    def test_means(self):
        """Each method has a mean over all questions, one without the adversarial ones, and one for each category."""
        answers = [
            measures.Answer("ours", category, {"recall@5": share})
            for category, share in (("adversarial", 0.0), ("temporal", 0.5), ("temporal", 1.0))
        ]
        rows = {row["questions"]: row for row in measures.table(answers)}
        assert {name: (row["number"], row["recall@5"]) for name, row in rows.items()} == {
            "all": (3, 0.5),
            "all but adversarial": (2, 0.75),
            "adversarial": (1, 0),
            "temporal": (2, 0.75),
        }


class TestBaselines:
    def test_bm25(self, folder):
        """Rare words weigh more, any of the words will do, and what shares none isn't found."""
        (conversation,) = conversations.load_turns(folder)
        scores = baselines.BM25(conversation)("Did the tortoise see the bathroom that is white?")
        found = baselines.best(conversation, scores, 20)
        assert found[:2] == ["c1:D1:3", "c1:D2:3"]
        assert set(found) == {f"c1:D{session}:{turn}" for session in (1, 2) for turn in (2, 3, 4, 5)}

    def test_episodes_fade(self, folder):
        """The blend prefers the later of two equal turns, facts don't fade, and nothing below the floor has a score."""
        (conversation,) = conversations.load_turns(folder)
        (facts,) = conversations.load_facts(folder)
        same = np.full(len(conversation.memories), 0.5)
        scores = baselines.blended(conversation, same, 0.2)
        assert scores[-1] == pytest.approx(0.65)
        assert scores[0] == pytest.approx(0.35 + 0.3 * 0.5 ** (31 / 7), abs=1e-4)
        assert baselines.blended(facts, np.array([0.5, 0.1]), 0.2).tolist() == [0.5, 0]

    def test_ties(self, folder):
        """A list that differs in the order of ties only is the best; one with another hit isn't, or with too few."""
        (conversation,) = conversations.load_turns(folder)
        scores = np.linspace(1, 0.1, len(conversation.memories))
        scores[1] = scores[0]
        ids = [turn.id for turn in conversation.memories]
        for found, right in (
            (ids[:4], True),
            ([ids[1], ids[0], ids[2], ids[3]], True),
            ([*ids[:3], ids[4]], False),
            (ids[:3], False),
            ([ids[0], ids[0], ids[2], ids[3]], False),
        ):
            assert baselines.is_best(found, conversation, scores, 4) is right

    def test_kept_vectors(self):
        """A text is embedded once, whoever asks for it."""
        calls = []

        class Counting(StaticEmbedder):
            def embed(self, texts):
                calls.append(list(texts))
                return super().embed(texts)

        kept = baselines.KeptVectors(Counting())
        first, again = kept.embed(["one", "two"]), kept.embed(["two", "three", "two"])
        assert calls == [["one", "two"], ["three"]]
        assert (again[0] == first[1]).all()
        assert (again[0] == again[2]).all()


class TestQuality:
    def test_tables(self, folder, redis_url, tmp_path):
        """Every method answers every question, mode `vector` is exact, and a second run writes the same bytes."""
        files = [tmp_path / name for name in ("first.json", "second.json")]
        for file in files:
            tables, wrong = quality.measure(redis_url, StaticEmbedder(), folder)
            quality.write(file, {"date": str(file), "embedder": "static"}, tables)
            assert wrong == 0
        assert files[0].read_bytes() == files[1].read_bytes()
        assert list(tables) == [*quality.LOADED, "Generated sets"]
        turns = [row for row in tables["Turns of conversations"] if row["questions"] == "all"]
        assert [row["method"] for row in turns] == ["cosine", "BM25", "vector", "text", "hybrid"]
        assert all(row["number"] == 2 and 0 < row["recall@10"] <= 1 for row in turns)


class TestVariants:
    def test_tables(self, folder, redis_url, monkeypatch):
        """Every variant answers every question."""
        monkeypatch.setattr(variants, "VARIANTS", {"all": {}, "none": variants.VARIANTS["no rules"]})
        tables = dict(variants.measure(redis_url, baselines.KeptVectors(StaticEmbedder()), folder))
        assert len(tables) == 3
        turns = [row for row in tables["Variants: turns"] if row["questions"] == "all"]
        assert [(row["method"], row["number"]) for row in turns] == [("all", 2), ("none", 2)]


class TestGenerated:
    def test_promises(self, redis_url, namespace):
        """What was superseded never surfaces, of equals the fresh or proven one is first, and both only of equals."""
        with memory(redis_url, namespace=namespace, embedder=StaticEmbedder()) as mem:
            rows = generated.measure(mem, ["hybrid"])
        kept = {row["promise"]: row["kept"] for row in rows}
        assert all(row["cases"] >= 8 for row in rows)
        words = {name: share for name, share in kept.items() if "other words" in name or "right one" in name}
        assert {name: share for name, share in kept.items() if name not in words} == {
            "updates, now: nothing of another time": 1,
            "updates, as of then: nothing of another time": 1,
            "recency: of equals the fresh one first": 1,
            "recency: nothing fresh before what is asked for": 1,
            "reinforcement: of equals the proven one first": 1,
            "reinforcement: nothing proven before what is asked for": 1,
        }
        assert len(words) == 4
        assert min(words.values()) >= 0.6
