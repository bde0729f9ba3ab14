"""The conversation that the demo remembers, and the questions that it asks."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime, timedelta
from importlib.resources import files

from attrs import frozen

from tiered_memory.items import MemoryItem

SESSIONS = {
    1: timedelta(days=9, hours=1),
    2: timedelta(days=7, hours=1),
    3: timedelta(days=4, hours=1),
    4: timedelta(days=1, hours=1),
    5: timedelta(hours=1, minutes=15),
}
"""How long ago each session began."""

_PACE = timedelta(seconds=90)
_KEPT = timedelta(hours=1)  # what an interrupted demo leaves on a server of one's own is gone then

LONG_TERM = ("semantic", "episodic", "procedural")
"""The tiers that outlive a session."""


@frozen
class Turn:
    """What was said in one turn of a session, as it is remembered."""

    session: int
    item: MemoryItem


@frozen
class Question:
    """A question to the conversation.

    Attributes:
        text: The question.
        shows: What its answer shows about memory.
        expects: The id of the memory that answers it.
        tiers: The tiers that are asked.
    """

    text: str
    shows: str
    expects: str
    tiers: tuple[str, ...] = LONG_TERM


QUESTIONS = (
    Question(
        "Is there a food allergy to watch out for?",
        "A paraphrase: question and memory share no telling word.",
        "allergy",
    ),
    Question(
        "Where is home now?",
        "A correction: Mara moved, so what she said about Lyon is superseded.",
        "home",
    ),
    Question(
        "Why was the checkout down?",
        "Recency: it happened twice, and is told in much the same words; the fresh one leads.",
        "certificate",
    ),
    Question(
        "How do we deploy the shop?",
        "Reinforcement: the other way is about as close; the one said four times leads.",
        "deploy",
    ),
    Question(
        "What is still to be done on the slow page of subscriptions?",
        "Working memory, asked too this time, has the notes of the running session.",
        "next-step",
        ("working", *LONG_TERM),
    ),
)


def conversation(now: datetime) -> list[Turn]:
    """The turns in their order, each at its own time before `now`."""
    said: Counter[int] = Counter()
    turns = []
    for line in (files(__package__) / "conversation.jsonl").read_text("utf-8").splitlines():
        turn = json.loads(line)
        session = turn["session"]
        turns.append(Turn(session, _item(turn, now - SESSIONS[session] + said[session] * _PACE)))
        said[session] += 1
    return turns


def _item(turn: dict[str, str], at: datetime) -> MemoryItem:
    metadata = {"role": turn["role"]}
    return MemoryItem(turn["text"], turn["tier"], id=turn.get("id"), at=at, metadata=metadata, ttl=_KEPT)
