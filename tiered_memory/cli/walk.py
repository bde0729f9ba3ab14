"""`tiered-memory review walk`: shows what waits, claim by claim, and does what the person answers."""

from __future__ import annotations

import sys
from typing import Literal, TypeAlias

from rich.console import Console, Group
from rich.text import Text

from tiered_memory.cli import views
from tiered_memory.cli.options import Options
from tiered_memory.cli.output import Answer, console
from tiered_memory.cli.waiting import Waiting, answer, decide, waiting
from tiered_memory.items import Reviewed

Choice: TypeAlias = Literal["promote", "reject", "skip", "quit"]

_CHOICES: dict[str, Choice] = {"p": "promote", "r": "reject", "s": "skip", "q": "quit"}


def run(options: Options, *, tier: str | None, scope: str | None, source: str | None) -> Answer:
    """Asks about each claim that waits now; with JSON as the answer, it is shown and asked on standard error."""
    say = console(stderr=options.as_json)
    reviewed: list[Reviewed] = []
    with options.open_scope(scope) as handle:
        claims = waiting(handle, tier, source)
        for place, each in enumerate(claims, 1):
            _show(say, each, f"{place} of {len(claims)}")
            choice = _ask(say)
            if choice == "quit":
                break
            if choice != "skip":
                reviewed += decide(handle, choice, [each.claim])
                say.print(views.outcome(reviewed[-1]))
    return answer(reviewed, Group(Text(), views.tally(reviewed)))


def _show(say: Console, each: Waiting, place: str) -> None:
    say.print(Text(f"\n{place}", style="bold"))
    say.print(views.claim(each.claim, each.others))


def _ask(say: Console) -> Choice:
    """What is answered in the next line; the end of the input quits, and an unknown answer is asked again."""
    while True:
        say.print("Promote, reject, skip or quit? [p/r/s/q] ", end="")
        line = sys.stdin.readline()
        if not sys.stdin.isatty():  # a terminal shows what is typed
            say.print(line.strip())
        if not line:
            return "quit"
        word = line.strip().lower()
        for letter, choice in _CHOICES.items():
            if word in (letter, choice):
                return choice
