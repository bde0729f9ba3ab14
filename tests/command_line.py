"""Calls the command line as a user does, on a Redis and in a namespace of the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tiered_memory.cli.app import app


class CommandLine:
    """Calls commands on one Redis, in one namespace."""

    def __init__(self, url: str, namespace: str) -> None:
        self._place = ("--url", url, "--namespace", namespace)

    def __call__(self, *arguments: str, **settings: Any) -> Any:
        """What a command prints, and its exit code."""
        return CliRunner().invoke(app, [*arguments, *self._place], **settings)

    def ask(self, *arguments: str) -> Any:
        """The JSON object that a command answers with."""
        return json.loads(self(*arguments, "--json").stdout)


def of_its_own(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No setting of the machine's own reaches a test, and no test reaches the user's data."""
    for name in ("REDIS_URL", "TIERED_MEMORY_NAMESPACE", "TIERED_MEMORY_EMBEDDER", "TIERED_MEMORY_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
