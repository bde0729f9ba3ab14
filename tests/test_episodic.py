"""Episodic memory: events by cosine and recency, (1 - w) * cos + w * 0.5 ** (age / half-life)."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import pytest
from shorthand import DAY, NOON, frozen, ranked, texts

from tiered_memory import EpisodicConfig, InvalidInput, MemoryItem


def event(text, age=timedelta(0), **given):
    return MemoryItem(text, "episodic", at=NOON - age, **given)


class TestScore:
    @pytest.mark.parametrize(
        ("days", "score"), [(0, 1), (3.5, 0.9121320343559642), (7, 0.85), (14, 0.775), (28, 0.71875)]
    )
    def test_recency(self, mem, days, score):
        """Recency halves with every half-life, which is seven days unless configured."""
        with frozen():
            mem.remember(event("exact", days * DAY))
            (hit,) = mem.recall("q")
        assert hit.score == pytest.approx(score, abs=1e-6)
        assert hit.similarity == 1

    def test_fresh_before_exact(self, mem):
        """A fresh event passes a more similar old one."""
        with frozen():
            mem.remember([event("exact", 14 * DAY), event("near")])
            assert ranked(mem.recall("q")) == [("near", 0.86), ("exact", 0.775)]

    def test_the_gate_is_the_cosine(self, mem):
        """The threshold holds for the cosine: the score may be below it."""
        with frozen():
            mem.remember([event("exact", 365 * DAY), event("far", 365 * DAY)])
            assert ranked(mem.recall("q", threshold=0.75)) == [("exact", 0.7)]

    def test_the_future(self, mem):
        """An event that is yet to come counts as one of now."""
        with frozen():
            mem.remember([event("exact", -30 * DAY)])
            assert ranked(mem.recall("q")) == [("exact", 1)]

    def test_configured(self, open_memory):
        """Half-life and weight are the configuration's."""
        mem = open_memory(episodic=EpisodicConfig(half_life=timedelta(days=1), weight=0.5))
        with frozen():
            mem.remember(event("near", DAY))
            assert ranked(mem.recall("q")) == [("near", 0.65)]

    @pytest.mark.parametrize(("weight", "order"), [(0, ["exact", "near"]), (1, ["near", "exact"])])
    def test_weights_at_the_ends(self, open_memory, weight, order):
        """Weight 0 is the cosine alone, and weight 1 recency alone."""
        mem = open_memory(episodic={"weight": weight})
        with frozen():
            mem.remember([event("exact", 7 * DAY), event("near")])
            assert texts(mem.recall("q")) == order


class TestExactness:
    def test_the_blend_decides(self, mem, embedder):
        """The best blend is found, also where k more similar events are old."""
        embedder.table |= {"old": [0.9, 0.43588989, 0], "fresh": [0.89, 0.45596052, 0]}
        with frozen():
            mem.remember([event("old", 70 * DAY, id=str(number)) for number in range(5)] + [event("fresh")])
            assert ranked(mem.recall("q", k=1)) == [("fresh", 0.923)]

    def test_among_many(self, mem, embedder):
        """The best blend is found among hundreds of more similar old ones and hundreds of fresher dissimilar ones."""
        embedder.table |= {"old": [0.9, 0.43588989, 0], "right": [0.85, 0.52678269, 0]}
        old = [event("old", 70 * DAY, id=f"old {number}") for number in range(150)]
        dissimilar = [event("orth", id=f"fresh {number}") for number in range(150)]
        with frozen():
            mem.remember([*old, *dissimilar, event("right", DAY)])
            assert texts(mem.recall("q", k=1)) == ["right"]


class TestRememberingAgain:
    def test_time_is_refreshed(self, mem):
        """An event that is remembered again is as fresh as a new one."""
        with frozen() as time:
            mem.remember("exact", tier="episodic")
            time.tick(7 * DAY)
            assert ranked(mem.recall("q")) == [("exact", 0.85)]
            mem.remember("exact", tier="episodic")
            assert ranked(mem.recall("q")) == [("exact", 1)]

    def test_with_a_new_text(self, mem):
        """A new text supersedes, and is as fresh."""
        with frozen() as time:
            mem.remember("exact", tier="episodic", id="x")
            time.tick(7 * DAY)
            (outcome,) = mem.remember("near", tier="episodic", id="x")
            assert outcome.outcome == "superseded"
            assert ranked(mem.recall("q")) == [("near", 0.86)]


class TestTime:
    def test_instants_are_compared(self, mem):
        """The same instant in two zones gives equal times and equal scores."""
        with frozen():
            mem.remember(
                [
                    MemoryItem("exact", "episodic", id="a", at=datetime.fromisoformat("2026-02-27T02:30:00+01:00")),
                    MemoryItem("exact", "episodic", id="b", at=datetime.fromisoformat("2026-02-27T01:30:00+00:00")),
                ]
            )
            first, second = mem.recall("q")
        assert first.at == second.at == datetime(2026, 2, 27, 1, 30, tzinfo=timezone.utc)
        assert first.score == second.score

    def test_utc(self, mem):
        """Times come back aware and in UTC, to the microsecond."""
        moment = datetime(2026, 2, 27, 1, 30, 15, 123457, tzinfo=timezone(timedelta(hours=-3, minutes=-30)))
        mem.remember("exact", tier="episodic", id="x", at=moment)
        found = mem.get("x", "episodic").at
        assert found == moment
        assert found.utcoffset() == timedelta(0)

    def test_naive(self, mem):
        """A naive time is refused, and nothing is written."""
        with pytest.raises(InvalidInput, match="no time zone"):
            mem.remember("exact", tier="episodic", at=datetime(2026, 2, 27))
        assert mem.count() == 0

    @pytest.mark.parametrize("sign", [-1, 1])
    def test_beyond_the_calendar(self, sign):
        """A time that has no equal in UTC is refused as an invalid input."""
        edge = datetime.max if sign < 0 else datetime.min
        with pytest.raises(InvalidInput):
            MemoryItem("exact", at=edge.replace(tzinfo=timezone(sign * timedelta(hours=12))))

    def test_ends_of_the_calendar(self, mem):
        """Times of any year are kept, near the ends of the calendar to a millisecond."""
        first, last = (edge.replace(tzinfo=timezone.utc) for edge in (datetime.min, datetime.max))
        mem.remember(
            [MemoryItem("exact", "episodic", at=first, id="a"), MemoryItem("exact", "episodic", at=last, id="b")]
        )
        newest, oldest = mem.recall("q")
        assert last - newest.at < timedelta(milliseconds=1)
        assert oldest.at - first < timedelta(milliseconds=1)

    def test_local_time_is_irrelevant(self, redis_url, namespace):
        """Scores don't depend on the process's time zone."""
        scores = {_score_in(zone, redis_url, namespace) for zone in ("UTC", "America/St_Johns", "Asia/Kolkata")}
        assert scores == {0.85}


_SCRIPT = """
import sys
from datetime import datetime, timedelta, timezone
from embedders_for_tests import TableEmbedder
from tiered_memory import memory
with memory(sys.argv[1], namespace=sys.argv[2], embedder=TableEmbedder(), mode="vector") as mem:
    mem.remember("exact", tier="episodic", at=datetime.now(timezone.utc) - timedelta(days=7))
    print(round(mem.recall("q")[0].score, 6))
"""


def _score_in(zone, redis_url, namespace):
    """The score that a process of time zone `zone` sees for a week-old event."""
    folder = os.path.dirname(__file__)
    command = [sys.executable, "-c", _SCRIPT, redis_url, namespace + zone.replace("/", "-")]
    return float(
        subprocess.run(
            command, cwd=folder, env=os.environ | {"TZ": zone}, check=True, capture_output=True, timeout=60
        ).stdout
    )
