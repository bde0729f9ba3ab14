"""What quality is measured on: memories and questions, read from a folder of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import frozen

from tiered_memory import MemoryItem

_AMONG = 1000
"""So many turns surround the pairs of the probe."""

Rows = list[dict[str, Any]]


@frozen
class Remembered:
    """A memory of a collection; a turn of a conversation has a speaker."""

    id: str
    text: str
    at: datetime
    speaker: str | None = None
    conversation: str | None = None

    @property
    def described(self) -> str:
        """What the baselines read: the speaker, too."""
        return self.text if self.speaker is None else f"{self.speaker}: {self.text}"

    def item(self, tier: str) -> MemoryItem:
        """It as the product is given it."""
        known = {"speaker": self.speaker, "conversation": self.conversation}
        metadata = {name: value for name, value in known.items() if value is not None}
        return MemoryItem(self.text, tier, id=self.id, at=self.at, metadata=metadata)


@frozen
class Question:
    """A question, its category, and the ids of the memories that answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@frozen
class Collection:
    """Memories that lie together in one scope and tier, in the order of their making, and questions about them."""

    name: str
    tier: str
    memories: list[Remembered]
    questions: list[Question]

    @property
    def end(self) -> datetime:
        """The time of the last memory."""
        return max(memory.at for memory in self.memories)


def load_turns(folder: Path) -> list[Collection]:
    """Each conversation as episodes; questions without evidence are left out."""
    questions = _grouped(folder, "questions")
    return [
        Collection(name, "episodic", [_turn(row) for row in rows], list(_asked(questions.get(name, []))))
        for name, rows in _grouped(folder, "memories").items()
    ]


def load_facts(folder: Path) -> list[Collection]:
    """What was said in each conversation, as facts; questions whose evidence gave rise to no fact are left out."""
    questions = _grouped(folder, "questions")
    return [_facts(name, rows, questions.get(name, [])) for name, rows in _grouped(folder, "observations").items()]


def load_probe(folder: Path) -> list[Collection]:
    """Facts in one scope with the first 1,000 turns: written first, as old as the first turn, without metadata."""
    pairs = _rows(folder, "probe")
    turns = [_turn(row) for row in _rows(folder, "memories")[:_AMONG]]
    if not pairs:
        return []
    first = min(turn.at for turn in turns)
    memories = [Remembered(row["id"], row["memory"], first) for row in pairs]
    questions = [Question(row["question"], "paraphrase", frozenset([row["id"]])) for row in pairs]
    return [Collection("probe", "episodic", memories + turns, questions)]


def _rows(folder: Path, kind: str) -> Rows:
    return [
        json.loads(line)
        for file in sorted(folder.glob(f"*_{kind}.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def _grouped(folder: Path, kind: str) -> dict[str, Rows]:
    grouped: dict[str, Rows] = {}
    for row in _rows(folder, kind):
        grouped.setdefault(row["scope"], []).append(row)
    return grouped


def _time(row: dict[str, Any], place: int) -> datetime:
    """What was said in one session shares its time, so each is put as many seconds later as its place is."""
    return datetime.fromisoformat(row["time"].replace("Z", "+00:00")) + timedelta(seconds=place)


def _turn(row: dict[str, Any]) -> Remembered:
    conversation = f"{row['scope']}:{row['session']}"
    return Remembered(row["id"], row["text"], _time(row, row["turn"]), row["speaker"], conversation)


def _asked(rows: Rows) -> Iterator[Question]:
    for row in rows:
        if row["evidence"]:
            yield Question(row["question"], row["category"], frozenset(row["evidence"]))


def _facts(name: str, rows: Rows, asked: Rows) -> Collection:
    facts = [Remembered(row["id"], row["text"], _time(row, place)) for place, row in enumerate(rows)]
    questions = []
    for question in _asked(asked):
        told = frozenset(row["id"] for row in rows if question.evidence.intersection(row["sources"]))
        if told:
            questions.append(Question(question.text, question.category, told))
    return Collection(f"{name} facts", "semantic", facts, questions)
