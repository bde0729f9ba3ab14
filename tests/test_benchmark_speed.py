"""The speed benchmark's own logic, on little data; nothing here depends on how fast anything is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from redis import Redis

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import clients
import common
import filled
import speed

from tiered_memory import clock

TINY = filled.Size(memories=120, scopes=3, blocks=1, recalls=4, writes=1, clients=2)


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

    def test_many_sides(self):
        """However many sides take turns, each goes first equally often, and has times of its own."""
        calls = []
        sides = [lambda number, side=side: calls.append(side) for side in range(3)]
        assert common.take_turns(sides, calls=3, blocks=2).shape == (3, 2, 3)
        turns = [calls[start : start + 3] for start in range(0, len(calls), 3)]
        assert all(sorted(turn) == [0, 1, 2] for turn in turns)
        assert sorted(turn[0] for turn in turns[3:]) == [0, 0, 1, 1, 2, 2]

    def test_ratio(self):
        """The ratio is the median over the blocks, so that one disturbed block doesn't count."""
        raw = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
        ours = np.array([[2.0, 2.0, 50.0], [2.0, 2.0, 2.0], [2.0, 2.0, 2.0]])
        summary = common.summarize(raw, ours)
        assert summary["ratio"] == 2
        assert summary["throughput"] == 0.5
        assert summary["raw p99 µs"] == pytest.approx(9e6)


class TestRecording:
    def test_round_trips(self, redis_url):
        """The recording client keeps one batch for each round trip, with the commands that it carried."""
        with common.RecordingClient.from_url(redis_url) as client:
            client.execute_command("PING")
            common.send(client, [("ECHO", "a"), ("ECHO", "b")])
            assert client.batches == [[("PING",)], [("ECHO", "a"), ("ECHO", "b")]]


class TestMeasure:
    def test_all_rows(self, redis_url):
        """Every comparison has its counts, bytes and ratios, and nothing is left in Redis."""
        rows = list(speed.measure(redis_url, TINY))
        names = [row["what"] for row in rows]
        assert names[:4] == ["recall, one tier", "recall, hybrid", "recall, 2 threads", "recall, 2 async tasks"]
        assert {"remember 100 at once", "remember 1", "recall, four tiers", "episodic, one scope"} <= set(names)
        for row in rows:
            assert row.keys() == rows[0].keys()
            assert row["embedder calls"] == 1
            assert row["round trips"] >= 1
            assert row["bytes"] > 4 * filled.DIMENSIONS
            assert row["ratio"] * row["throughput"] == pytest.approx(1)
        with Redis.from_url(redis_url) as client:
            left = list(client.scan_iter("{benchmark-*"))
            assert [key for key in left if b":record:" in key] == []

    def test_the_same_commands(self, redis_url):
        """What is sent raw for a recall is one search with the product's own parameters, and finds the memory."""
        with filled.filled(redis_url, TINY, ["semantic"]) as bench:
            ask = speed._asking(bench, tier="semantic")(bench.recorder)
            (batch,), counts = filled.sent_by(bench, lambda _: ask(0))
            assert counts == {"round trips": 1, "embedder calls": 1}
            assert [command[0] for command in batch] == ["FT.SEARCH"]
            assert bench.workload.texts[0] in repr(common.send(bench.client, batch))

    def test_one_pipeline(self, redis_url, monkeypatch):
        """The commands of all round trips of a recall are sent raw in one pipeline."""
        given = []
        with filled.filled(redis_url, TINY, speed.TIERS) as bench:
            row = speed.recall(bench, "four", lambda _, sent, __: given.extend(sent) or {})
        assert row["what"] == "four"
        assert len(given) == TINY.recalls
        assert all(len(batch) >= len(speed.TIERS) for batch in given)

    def test_the_same_fields(self, redis_url):
        """What is written raw are the fields that the product wrote, so that the index takes them in alike."""
        with filled.filled(redis_url, TINY, ["semantic"]) as bench:
            bench.memory.scoped(speed.FRESH).remember(bench.workload.texts[:5])
            written = speed.as_written(bench, 5)
            texts = bench.workload.texts[:5]
        assert len(written) == 5
        fields = dict(zip(written[0][::2], written[0][1::2], strict=True))
        assert fields[b"text"].decode() in texts
        assert len(max(fields.values(), key=len)) == 4 * filled.DIMENSIONS

    def test_nearest(self, redis_url):
        """The raw search for the ten nearest rows of a scope finds what a recall without a blend does."""
        with filled.filled(redis_url, TINY, ["semantic"]) as bench:
            raw = repr(common.send(bench.client, [speed.nearest(bench, "semantic", 2)]))
            hits = speed._asking(bench, tier="semantic")(bench.memory)(2)
        assert len(hits) == speed.K
        assert all(hit.text in raw for hit in hits)


class TestFilled:
    def test_spread(self, redis_url):
        """Memories are spread evenly over scopes and tiers; episodes are old, and few how-tos are used much."""
        with filled.filled(redis_url, TINY, speed.TIERS) as bench:
            user = bench.memory.scoped(bench.workload.scope(0))
            assert {tier: user.count(tier) for tier in speed.TIERS} == dict.fromkeys(speed.TIERS, 10)
            ages = [clock.now() - item.at for item in user.list("episodic").items]
            assert max(ages).total_seconds() > 24 * 3600
            assert sorted(item.uses for item in user.list("procedural").items) == [1, 1, 1, 1, 1, 1, 2, 2, 3, 6]


class TestClients:
    def test_shared_out(self, redis_url):
        """However many clients there are, each question is asked once a block, of the async memory too."""
        asked = []

        def asking(mem):
            async def waiting(number):
                asked.append(number)
                return await mem.count()

            return waiting if type(mem).__name__.startswith("Async") else asked.append

        with filled.filled(redis_url, TINY, ["semantic"]) as bench:
            batches = [[("PING",)], [("PING",), ("PING",)]]
            for measured in (clients.threads, clients.tasks):
                asked.clear()
                assert measured(bench, batches, asking)["ratio"] > 0
                assert sorted(asked) == [0, 0, 1, 1]


class TestReport:
    def test_json(self, tmp_path, redis_url, capsys):
        """A report is printed as a table, and written as JSON with what it was measured on."""
        file = tmp_path / "report.json"
        with Redis.from_url(redis_url) as client:
            common.report("Title", common.environment(client), [{"what": "a", "ratio": 1.25, "p50": None}], file)
        written = json.loads(file.read_text())
        assert written["rows"] == [{"what": "a", "ratio": 1.25, "p50": None}]
        assert {"date", "cpus", "python", "redis-py", "redisvl", "server", "search module"} <= written["facts"].keys()
        printed = capsys.readouterr().out
        assert "1.250" in printed
        assert " - " in printed
