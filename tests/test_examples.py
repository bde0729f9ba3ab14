"""The examples run as they stand, and do what they say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, redis_url):
    """What an example prints, on the tests' server."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        env=os.environ | {"REDIS_URL": redis_url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("name", ["orchestrator.py", "orchestrator_async.py"])
def test_orchestrator(name, redis_url):
    """A later turn of a session knows what an earlier one said, and another session doesn't."""
    said = run(name, redis_url)
    assert "ada: What is my email?\n  -> It is ada@example.com.  (1 recalled)" in said
    assert "bob: What is my email?\n  -> You haven't told me." in said


def test_review(redis_url):
    """Doubtful facts are silent until promoted, rejected ones are gone, and the past can be asked."""
    assert run("review.py", redis_url).splitlines() == [
        "home: queued, confidence below 0.8",
        "diet: queued, confidence below 0.8",
        "pet: queued, confidence below 0.8",
        "while they wait, recall finds: nothing",
        "after promoting home: Ada lives in Lyon.",
        "after rejecting pet, there waits: diet",
        "after a surer claim: Ada lives in Paris.",
        "as of before: Ada lives in Lyon.",
        "  active: Ada lives in Paris.",
        "  superseded: Ada lives in Lyon.",
    ]
