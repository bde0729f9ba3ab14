"""The contest with the peers: its turns, its figures and its environments; no peer is installed here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from peers import contest, entry, environments, figures, protocol

RULES = contest.Rules(memories=60, scopes=3, dimensions=8, questions=6, singles=12, batch=5, turns=2)

WRONG = """
from protocol import Contender, serve

class Wrong(Contender):
    packages = ("numpy",)
    batches = False

    def add(self, text, scope):
        pass

    def recall(self, question, scope):
        {recall}

    def texts(self, answer):
        return answer

serve(Wrong)
"""


@pytest.fixture
def contender(monkeypatch, tmp_path):
    """Adds a contender whose recall has this body."""

    def add(recall):
        (tmp_path / "wrong.py").write_text(WRONG.format(recall=recall))
        monkeypatch.setattr(entry, "_FOLDER", tmp_path)
        monkeypatch.setenv("PYTHONPATH", str(Path(protocol.__file__).parent))
        return "wrong"

    return add


class TestContest:
    def test_side_by_side(self, redis_url):
        """Both contenders of this environment find the exact ten best of each scope, and leave nothing in Redis."""
        raw, ours = contest.contest(redis_url, RULES, ["raw_redis", "tiered"])
        for row in (raw, ours):
            assert row["recall"] == 1
            assert row["foreign"] == 0
            assert row["adds/s"] > 0
            assert row["batched/s"] > 0
        assert ours["p50 / ours"] == ours["ours / adds"] == ours["ours / batched"] == 1
        assert "redis" in raw["versions or why not"]
        with Redis.from_url(redis_url) as client:
            assert not any(b"raw_redis" in name or b"tiered" in name for name in client.execute_command("FT._LIST"))
            assert list(client.scan_iter("*benchmark-*-tiered*")) == []

    def test_wrong_answers(self, redis_url, contender):
        """Who answers with other scopes' memories, or with none, is seen."""
        name = contender("return self.workload.texts[:10]")
        (row,) = contest.contest(redis_url, RULES, [name])
        assert row["foreign"] == 40
        assert 0 < row["recall"] < 1
        assert row["batched/s"] is None
        assert row["p50 / ours"] is None

    def test_failure(self, redis_url, contender):
        """Who fails is reported with the last line of what it said, and doesn't keep others from going on."""
        (row,) = contest.contest(redis_url, RULES, [contender("raise ValueError('out of order')")])
        assert row["versions or why not"] == "ValueError: out of order"
        assert row["p50 ms"] is None

    def test_not_installed(self, redis_url, monkeypatch):
        """Who can't be installed is reported as such."""

        def fail(_):
            raise environments.NotInstalled("not installed: no such package")

        monkeypatch.setattr(entry, "interpreter", fail)
        (row,) = contest.contest(redis_url, RULES, ["raw_redis"])
        assert row["versions or why not"] == "not installed: no such package"


class TestTurns:
    def test_everything_once(self):
        """Each memory is added once, by batches of one scope or singly, and each question asked once after warming."""
        turns = list(contest.turns(RULES))
        assert list(dict.fromkeys(verb for verb, _ in turns)) == ["batch", "add", "warm", "recall"]
        batches = [batch for verb, numbers in turns if verb == "batch" for batch in numbers]
        singles = [number for verb, numbers in turns if verb == "add" for number in numbers]
        assert sorted([number for batch in batches for number in batch] + singles) == list(range(60))
        assert singles == list(range(48, 60))
        assert all(len({number % 3 for number in batch}) == 1 and len(batch) <= 5 for batch in batches)
        assert [number for verb, numbers in turns if verb == "recall" for number in numbers] == list(range(6))


class TestFigures:
    def test_exact(self):
        """The best of a scope are those with the greatest cosine, and the one that was asked about is among them."""
        workload = protocol.Workload.drawn(60, 6, 3, 8)
        best = figures.exact(workload)
        for number, found in enumerate(best):
            assert len(found) == protocol.K
            assert number in found
            assert {each % 3 for each in found} == {number % 3}


class TestWorkload:
    def test_kept(self, tmp_path):
        """A workload is the same one each time, and after it was written and read."""
        drawn, file = protocol.Workload.drawn(20, 5, 2, 8), tmp_path / "workload.npz"
        drawn.save(file)
        read = protocol.Workload.load(str(file))
        assert (read.texts, read.questions, read.scopes) == (drawn.texts, drawn.questions, 2)
        assert (read.embed(read.questions[3]) == protocol.Workload.drawn(20, 5, 2, 8).embed(drawn.questions[3])).all()


class TestEnvironments:
    @pytest.mark.parametrize("name", contest.CONTENDERS)
    def test_pinned(self, name):
        """Each contender says which packages it needs, and the one that it measures is pinned."""
        script = Path(contest.__file__).with_name(f"{name}.py")
        wanted = environments.metadata(script.read_text("utf-8"))
        if name in ("raw_redis", "tiered", "tiered_hybrid"):
            assert environments.interpreter(script) == Path(sys.executable)
        else:
            assert "==" in wanted["dependencies"][0]

    def test_made_once(self, tmp_path):
        """An environment is made on the first call, and found on the next."""
        script = tmp_path / "bare.py"
        script.write_text('# /// script\n# dependencies = ["pip"]\n# ///\n')
        python = environments.interpreter(script, tmp_path)
        command = [python, "-c", "import sys; print(sys.prefix)"]
        assert subprocess.check_output(command, text=True).strip() == str(python.parents[1])
        ready = (python.parents[1] / "ready").stat().st_mtime_ns
        assert environments.interpreter(script, tmp_path) == python
        assert (python.parents[1] / "ready").stat().st_mtime_ns == ready

    def test_no_python(self, tmp_path):
        """Where no Python fits, the message says which was wanted."""
        script = tmp_path / "old.py"
        script.write_text('# /// script\n# requires-python = "<3"\n# dependencies = []\n# ///\n')
        with pytest.raises(environments.NotInstalled, match="<3"):
            environments.interpreter(script, tmp_path)
