"""The command line, `tiered-memory`: try `tiered-memory --help`."""

from __future__ import annotations

import io
import sys
from importlib.util import find_spec

from tiered_memory.errors import MissingExtra


def main() -> None:
    """What the console script runs; ends the process with 0, 1 for a failure, or 2 for wrong usage."""
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.exit(f"error: {MissingExtra('The command line', 'cli')}")
    from tiered_memory.cli.app import app

    _print_in_any_encoding()
    app()


def _print_in_any_encoding() -> None:
    """What a terminal's encoding lacks is printed as a question mark, rather than failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
