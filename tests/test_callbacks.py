"""The table of callbacks: each is answered by a method that is there, in both modes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tiered_memory import async_memory, memory

PAGE = (Path(__file__).parent.parent / "docs" / "callbacks.md").read_text("utf-8")
ROWS = re.findall(
    r"^\| `(?P<callback>[a-z_?]+)` \| `store\.(?P<path>[a-z_.]+)\((?P<parameters>[^)]*)\)`", PAGE, re.MULTILINE
)


@pytest.mark.parametrize("make", [memory, async_memory])
@pytest.mark.parametrize(("callback", "path", "parameters"), ROWS)
def test_methods(make, callback, path, parameters):
    """The method that answers a callback takes what the table says."""
    method = make("redis://nowhere.invalid:1/0").store
    for name in path.split("."):
        method = getattr(method, name)
    taken = inspect.signature(method).parameters
    for parameter in filter(None, parameters.split(", ")):
        assert parameter.removesuffix("=…") in taken, f"{path} doesn't take {parameter}"


def test_all_callbacks():
    """The table has every callback once, but for the one that isn't a method of a store."""
    named = [callback for callback, *_ in ROWS]
    assert len(named) == len(set(named)) == 49
    assert "| `child_specs` | `memory(…)`" in PAGE
