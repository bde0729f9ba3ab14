"""The examples about files run as they stand, and do what they say."""

from __future__ import annotations

import pytest
from test_examples import run


def test_sqlite(redis_url):
    """Files that are kept in a SQLite table are read, listed, searched and moved there."""
    assert run("files_sqlite.py", redis_url).splitlines() == [
        "/notes/tea.md:1: # Tea",
        "/notes/tea.md:2: Likes black tea.",
        "['/notes/milk.md', '/notes/tea.md']",
        "['/archive/milk.md', '/archive/tea.md']",
        "there is no file '/notes/tea.md'",
    ]


def test_deepagents(redis_url):
    """A later conversation of an agent reads what an earlier one wrote below /memories/, and nothing else is kept."""
    pytest.importorskip("deepagents")
    assert run("files_deepagents.py", redis_url).splitlines() == ["kept: ['/tea.md']", "read: Likes black tea."]
