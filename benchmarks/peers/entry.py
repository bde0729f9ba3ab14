"""A contender's process, and what it has answered so far."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import Factory, define

from peers.environments import interpreter

_FOLDER = Path(__file__).parent


class GaveUp(Exception):
    """A contender's process has ended or refused; the message says why."""


@define
class Entry:
    """What one contender has answered so far.

    Attributes:
        name: Its script.
        seconds: How long its calls took, by command.
        found: The numbers of the memories that it found, for each question.
        added: How many memories it has added, by command.
        bytes: By how much Redis, or its own process, has grown by them.
        about: What it said about itself.
        remark: Why it gave up, if it did.
        process: Its process, once it is started; what that says beside its answers is in `log`.
    """

    name: str
    seconds: dict[str, list[float]] = Factory(lambda: {"batch": [], "add": [], "recall": []})
    found: list[list[int]] = Factory(list)
    added: dict[str, int] = Factory(lambda: {"batch": 0, "add": 0})
    bytes: int = 0
    about: dict[str, Any] = Factory(dict)
    remark: str = ""
    process: Any = None
    log: Path | None = None

    def start(self, arguments: Sequence[str], log: Path) -> None:
        """Starts its process, which then answers commands."""
        script = _FOLDER / f"{self.name}.py"
        self.log = log
        command = [str(interpreter(script)), str(script), *arguments]
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=log.parent
            )
        self.about = self._answer()

    def ask(self, verb: str, numbers: Sequence[Any]) -> None:
        """Has it do one command, and notes what it answers."""
        try:
            self.process.stdin.write(json.dumps([verb, list(numbers)]) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._failure() from None
        answer = self._answer()
        if verb == "warm":
            return
        self.seconds[verb] += answer["seconds"]
        self.found += answer["found"]
        if verb in self.added:
            self.added[verb] += int(sum(np.size(each) for each in numbers))

    def stop(self) -> None:
        """Ends its process."""
        if self.process is not None:
            self.process.communicate()

    def rate(self, verb: str) -> float | None:
        """How many memories a second it has added by this command; None when it has no such command."""
        seconds = sum(self.seconds[verb])
        return self.added[verb] / seconds if seconds else None

    def resident(self) -> int:
        """The bytes of memory that its process holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            raise self._failure()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _failure(self) -> GaveUp:
        lines = self.log.read_text(errors="replace").strip().splitlines() if self.log else []
        return GaveUp(lines[-1] if lines else "ended without a word")
