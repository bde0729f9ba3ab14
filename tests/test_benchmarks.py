"""The benchmarks' own logic, on little data; nothing here depends on how fast anything is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from redis import Redis

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import common
import recall_quality
import speed

from tiered_memory import memory
from tiered_memory.embedders import StaticEmbedder

TINY = speed.Size(memories=120, scopes=3, blocks=1, recalls=4, writes=1)


class TestInterleave:
    def test_takes_turns(self):
        """Both sides are called equally often, each first half of the time, and each call is undone."""
        calls = []
        raw, ours = common.interleave(
            lambda number: calls.append(("raw", number)),
            lambda number: calls.append(("ours", number)),
            calls=2,
            blocks=2,
            reset=lambda number: calls.append(("reset", number)),
        )
        assert raw.shape == ours.shape == (2, 2)
        assert calls[1::2] == [("reset", number) for _, number in calls[::2]]
        timed = [side for side, _ in calls[::2]][4:]
        assert timed.count("raw") == timed.count("ours") == 4
        assert sorted(timed[::2]) == ["ours", "ours", "raw", "raw"]

    def test_ratio(self):
        """The ratio is the median over the blocks, so that one disturbed block doesn't count."""
        raw = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
        ours = np.array([[2.0, 2.0, 50.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
        summary = common.summarize(raw, ours)
        assert summary["ratio"] == 2
        assert summary["throughput"] == 0.5


class TestRecording:
    def test_round_trips(self, redis_url):
        """The recording client keeps one batch for each round trip, with the commands that it carried."""
        with common.RecordingClient.from_url(redis_url) as client:
            client.execute_command("PING")
            common.send(client, [("ECHO", "a"), ("ECHO", "b")])
            assert client.batches == [[("PING",)], [("ECHO", "a"), ("ECHO", "b")]]


class TestSpeed:
    def test_measures(self, redis_url):
        """Every comparison has its counts and ratios, and nothing is left in Redis."""
        rows = speed.measure(redis_url, TINY)
        assert len(rows) == 4
        for row in rows:
            assert row["round trips"] == row["embedder calls"] == 1
            assert row["ratio"] * row["throughput"] == pytest.approx(1)
        with Redis.from_url(redis_url) as client:
            left = list(client.scan_iter("{benchmark-*"))
            assert [key for key in left if b":record:" in key] == []

    def test_the_same_commands(self, redis_url):
        """What is sent raw for a recall is one search with the product's own parameters, and finds the memory."""
        with speed.bench(redis_url, TINY, ["semantic"]) as bench:
            handle = bench.recorder.scoped(bench.scope(0))
            (batch,), counts = speed.sent_by(
                bench, lambda _: handle.recall(bench.queries[0], threshold=-1, tier="semantic")
            )
            assert counts == {"round trips": 1, "embedder calls": 1}
            assert [command[0] for command in batch] == ["FT.SEARCH"]
            assert bench.texts[0] in repr(common.send(bench.client, batch))

    def test_the_same_fields(self, redis_url):
        """What is written raw are the fields that the product wrote, so that the index takes them in alike."""
        with speed.bench(redis_url, TINY, ["semantic"]) as bench:
            bench.memory.scoped(speed.FRESH).remember(bench.texts[:5])
            written = speed._as_written(bench, 5)
        assert len(written) == 5
        fields = dict(zip(written[0][::2], written[0][1::2], strict=True))
        assert fields[b"text"].decode() in bench.texts[:5]
        assert len(max(fields.values(), key=len)) == 4 * speed.DIMENSIONS


class TestReport:
    def test_json(self, tmp_path, redis_url, capsys):
        """A report is printed as a table, and written as JSON with what it was measured on."""
        file = tmp_path / "report.json"
        with Redis.from_url(redis_url) as client:
            common.report("Title", common.environment(client), [{"what": "a", "ratio": 1.25}], file)
        written = json.loads(file.read_text())
        assert written["rows"] == [{"what": "a", "ratio": 1.25}]
        assert {"date", "cpus", "python", "redis-py", "redisvl", "server", "search module"} <= written["facts"].keys()
        assert "1.250" in capsys.readouterr().out


WORDS = ["bread", "cheese", "river", "mountain", "piano", "guitar", "doctor", "teacher", "summer", "winter", "garden"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A conversation of two sessions in the format that the benchmark reads."""
    turns = [
        {
            "id": f"c1:D{session}:{turn}",
            "scope": "c1",
            "session": session,
            "turn": turn,
            "time": f"2026-0{session}-01T10:00:00Z",
            "speaker": "Ann" if turn % 2 else "Ben",
            "text": f"The {WORDS[turn - 1]} was nice in the {WORDS[-turn]} that day",
        }
        for session in (1, 2)
        for turn in range(1, 12)
    ]
    questions = [
        {"scope": "c1", "question": "What about bread?", "category": "single_hop", "evidence": ["c1:D1:1", "c1:D2:1"]},
        {"scope": "c1", "question": "Who has a piano?", "category": "adversarial", "evidence": ["c1:D1:5"]},
        {"scope": "c1", "question": "Why?", "category": "open_domain", "evidence": []},
    ]
    for name, rows in (("a_memories", turns), ("a_questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


class TestLoad:
    def test_conversation(self, folder):
        """Turns are strictly in order and carry their speaker; questions without evidence are left out."""
        (conversation,) = recall_quality.load(folder)
        times = [turn.at for turn in conversation.turns]
        assert times == sorted(set(times))
        assert conversation.end == times[-1]
        assert conversation.turns[0].text == "Ann: The bread was nice in the garden that day"
        assert [question.category for question in conversation.questions] == ["single_hop", "adversarial"]


class TestRecallQuality:
    def test_against_brute_force(self, folder, redis_url, namespace):
        """A conversation is asked in both tiers, and what is found is what brute force finds."""
        (conversation,) = recall_quality.load(folder)
        embedder = StaticEmbedder()
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            answers = recall_quality.ask(mem, embedder, conversation)
        assert [answer.tier for answer in answers] == ["episodic"] * 2 + ["semantic"] * 2
        assert not any(answer.wrong for answer in answers)
        assert [answer.found for answer in answers] == [answer.brute for answer in answers]

    def test_episodes_fade(self, folder):
        """Brute force blends cosine and recency: of two equal turns the later one scores higher."""
        (conversation,) = recall_quality.load(folder)
        scores = recall_quality.blended(np.ones(len(conversation.turns)), conversation)
        assert scores[-1] == pytest.approx(1)
        assert scores[0] == pytest.approx(0.7 + 0.3 * 0.5 ** (31 / 7), abs=1e-4)

    def test_differences(self, folder):
        """A list that differs in the order of ties only isn't wrong; one with another hit is, or with too few."""
        (conversation,) = recall_quality.load(folder)
        scores = np.linspace(1, 0, len(conversation.turns))
        scores[1] = scores[0]
        ids = [turn.id for turn in conversation.turns]
        swapped = [ids[1], ids[0], *ids[2:10]]

        def judged(found):
            answer = recall_quality.compared("semantic", conversation.questions[0], found, conversation.turns, scores)
            return answer.differs, answer.wrong

        assert judged(ids[:10]) == (False, False)
        assert judged(swapped) == (True, False)
        assert judged([*ids[:9], ids[10]]) == (True, True)
        assert judged(ids[:9]) == (True, True)
        assert judged([ids[0], ids[0], *ids[2:10]]) == (True, True)

    def test_shares(self, folder):
        """Evidence is counted by its share among the hits, and means are over questions."""
        (conversation,) = recall_quality.load(folder)
        question = conversation.questions[0]
        scores = np.linspace(1, 0, len(conversation.turns))
        ids = [turn.id for turn in conversation.turns[:10]]
        half = recall_quality.compared("semantic", question, ids, conversation.turns, scores)
        none = recall_quality.compared("semantic", conversation.questions[1], ids[5:], conversation.turns, scores)
        rows = {row["questions"]: row for row in recall_quality.summarize([half, none]) if row["tier"] == "semantic"}
        assert rows["all"]["recall@10"] == 0.25
        assert rows["all but adversarial"]["recall@10"] == 0.5
        assert rows["adversarial"]["brute force"] == 1
