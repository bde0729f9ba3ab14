"""The demo: what it shows is true, and it leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from servers import wait_until
from shorthand import NOON, TIERS
from typer.testing import CliRunner

from tiered_memory import memory
from tiered_memory.cli import demo
from tiered_memory.cli.app import app
from tiered_memory.cli.conversation import QUESTIONS, Question, conversation

PARAPHRASE, CORRECTION, RECENCY, REINFORCEMENT, WORKING = range(5)


def play(redis_url, *options):
    return CliRunner().invoke(app, ["demo", "--json", "--url", redis_url, *options])


@pytest.fixture(scope="module", params=["static", "minilm"])
def played(request, redis_url):
    """What the demo answers, with either of the offline embedders."""
    namespace = f"demo-{os.getpid()}-{request.param}"
    result = play(redis_url, "--namespace", namespace, "--embedder", request.param)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def hits(played, number):
    return played["answers"][number]["hits"]


class TestConversation:
    def test_turns(self):
        """Some 60 turns of two speakers over five sessions, with all four tiers."""
        turns = conversation(NOON)
        assert 55 <= len(turns) <= 65
        assert {turn.session for turn in turns} == {1, 2, 3, 4, 5}
        assert {turn.item.tier for turn in turns} == set(TIERS)
        assert {turn.item.metadata["role"] for turn in turns} == {"user", "assistant"}

    def test_times(self):
        """Turns follow each other, the first days ago, the last before now."""
        times = [turn.item.at for turn in conversation(NOON)]
        assert times == sorted(times)
        assert times[0] < NOON - timedelta(days=8)
        assert times[-1] < NOON

    def test_notes_are_of_the_last_session(self):
        """Working notes occur in the running session only, as earlier ones were cleared."""
        assert {turn.session for turn in conversation(NOON) if turn.item.tier == "working"} == {5}


class TestAnswers:
    def test_five(self, played):
        """There are five questions, and the memory that is looked for is among the first three hits."""
        assert len(QUESTIONS) == len(played["answers"]) == 5
        for answer in played["answers"]:
            assert answer["expects"] in [hit["id"] for hit in answer["hits"][:3]], answer["question"]

    def test_four_tiers(self, played):
        """Hits come from all four tiers."""
        assert {hit["tier"] for answer in played["answers"] for hit in answer["hits"]} == set(TIERS)

    def test_why(self, played):
        """Each hit says why it is there: its cosine, or the words that it shares."""
        for hit in (hit for answer in played["answers"] for hit in answer["hits"] if hit["tier"] != "working"):
            cosine = hit["similarity"]
            assert hit["why"].startswith("words " if cosine is None else f"cosine {cosine:.2f}")

    def test_paraphrase(self, played):
        """The first hit of the paraphrase shares no word of four letters or more with the question."""
        first = hits(played, PARAPHRASE)[0]
        assert first["id"] == "allergy"
        assert words(first["text"]) & words(QUESTIONS[PARAPHRASE].text) == set()

    def test_correction(self, played):
        """What was said first about the home is not recalled any more."""
        assert hits(played, CORRECTION)[0]["id"] == "home"
        assert not any("Lyon" in hit["text"] for hit in hits(played, CORRECTION))

    def test_recency(self, played):
        """Of two events that are about equally relevant the fresh one leads."""
        first, second = hits(played, RECENCY)[:2]
        assert first["id"] == "certificate"
        assert "checkout was down" in second["text"]
        assert relevance(first) == pytest.approx(relevance(second), abs=0.05)
        assert datetime.fromisoformat(first["at"]) - datetime.fromisoformat(second["at"]) > timedelta(days=7)

    def test_reinforcement(self, played):
        """Of two procedures that are about equally relevant the one that was said four times leads."""
        first, second = hits(played, REINFORCEMENT)[:2]
        assert (first["id"], first["uses"], second["uses"]) == ("deploy", 4, 1)
        assert relevance(first) == pytest.approx(relevance(second), abs=0.05)

    def test_working(self, played):
        """The newest note of the running session leads, among hits of other tiers."""
        first, *others = hits(played, WORKING)
        assert (first["id"], first["tier"], first["score"]) == ("next-step", "working", 1.0)
        assert any(hit["tier"] != "working" for hit in others)


class TestScopes:
    def test_another_sees_nothing(self, played):
        """The same questions in another scope have no hit."""
        assert played["other_scope"]["hits"] == 0
        assert played["other_scope"]["scope"] != played["scope"]

    def test_the_end(self, played):
        """Clearing working memory keeps the rest; in the end all of it is forgotten."""
        turns = conversation(NOON)
        notes = sum(turn.item.tier == "working" for turn in turns)
        assert played["end"] == {"cleared_working": notes, "kept": 56 - notes, "cleared": 56 - notes}
        assert played["outcomes"] == {"recorded": 56, "superseded": 4}

    def test_leaves_nothing_and_touches_nothing(self, redis_url, namespace):
        """On a server of one's own other scopes of the namespace stay, and nothing is added."""
        with memory(redis_url, namespace=namespace) as mem:
            mem.scoped("user:42").remember("A fact.")
            before = mem.stats()
            assert play(redis_url, "--namespace", namespace).exit_code == 0
            assert mem.stats() == before

    def test_a_failure_leaves_nothing(self, redis_url, namespace, monkeypatch):
        """A demo that fails in the middle forgets what it had remembered."""
        monkeypatch.setattr(demo, "QUESTIONS", (Question("What?", "", "", ("nowhere",)),))
        result = play(redis_url, "--namespace", namespace)
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "unknown_tier")
        with memory(redis_url, namespace=namespace) as mem:
            assert mem.stats().scopes == 0


class TestScript:
    def test_one_command(self, tmp_path):
        """On a machine without Redis one command starts one, plays, prints plain lines, and leaves no file."""
        script = Path(sys.executable).with_name("tiered-memory")
        settings = {name: value for name, value in os.environ.items() if not name.startswith(("REDIS", "TIERED"))}
        settings |= {"TMPDIR": str(tmp_path), "COLUMNS": "80", "NO_COLOR": "1"}
        done = subprocess.run([script, "demo"], env=settings, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        lines = done.stdout.splitlines()
        assert max(map(len, lines)) <= 80
        assert "\x1b" not in done.stdout
        assert all(question.text in done.stdout for question in QUESTIONS)
        assert all(line.strip().startswith("tiered-memory ") for line in lines[-3:])
        wait_until(lambda: not any(tmp_path.iterdir()))


def words(text):
    return {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) >= 4}


def relevance(hit):
    """The score of a hit of mode `hybrid` without the share of its bonus."""
    (bonus,) = re.findall(r"(?:fresh|proven) (\d\.\d\d)", hit["why"])
    return hit["score"] / (0.9 + 0.1 * float(bonus))
