"""How much of the evidence a recall finds in long conversations, and whether it finds the same as brute force.

    python benchmarks/recall_quality.py FOLDER [--conversation NAME | --all] [--embedder minilm] [--json FILE]

FOLDER holds `*_memories.jsonl` (`id`, `scope`, `turn`, `time`, `speaker`, `text`) and `*_questions.jsonl`
(`scope`, `question`, `category`, `evidence`), one JSON object a line. Each conversation is remembered twice:
its turns as episodes at their own times, and as facts. Its questions are asked as of its end.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import numpy as np
from attrs import frozen
from common import environment, report, server
from numpy.typing import NDArray
from redis import Redis

from tiered_memory import EpisodicConfig, Memory, MemoryItem, clock, memory
from tiered_memory.embedders import Embedder, MiniLMEmbedder, StaticEmbedder

K = 10
TIES = 1e-6
"""Scores that differ by no more count as equal: cosines are compared to six digits."""

TIERS = ("episodic", "semantic")
EMBEDDERS: dict[str, Callable[[], Embedder]] = {"static": StaticEmbedder, "minilm": MiniLMEmbedder}

Numbers = NDArray[np.float64]


@frozen
class Turn:
    """One turn of a conversation, at a time of its own."""

    id: str
    text: str
    at: datetime


@frozen
class Question:
    """A question, and the ids of the turns that answer it."""

    text: str
    category: str
    evidence: frozenset[str]


@frozen
class Conversation:
    """The turns of a conversation, and the questions that are asked at its end."""

    name: str
    turns: list[Turn]
    questions: list[Question]

    @property
    def end(self) -> datetime:
        """The time of the last turn."""
        return max(turn.at for turn in self.turns)


def load(folder: Path) -> list[Conversation]:
    """All conversations of a folder; questions without evidence are left out."""
    turns = _by_scope(folder, "*_memories.jsonl")
    questions = _by_scope(folder, "*_questions.jsonl")
    return [
        Conversation(name, [_turn(row) for row in rows], [_question(row) for row in questions[name] if row["evidence"]])
        for name, rows in turns.items()
    ]


def _by_scope(folder: Path, pattern: str) -> dict[str, list[dict[str, Any]]]:
    (file,) = folder.glob(pattern)
    grouped: dict[str, list[dict[str, Any]]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        grouped.setdefault(row["scope"], []).append(row)
    return grouped


def _turn(row: dict[str, Any]) -> Turn:
    """Turns of one session share its time, so each is put as many seconds later as its place in the session."""
    started = datetime.fromisoformat(row["time"].replace("Z", "+00:00"))
    return Turn(row["id"], f"{row['speaker']}: {row['text']}", started + timedelta(seconds=row["turn"]))


def _question(row: dict[str, Any]) -> Question:
    return Question(row["question"], row["category"], frozenset(row["evidence"]))


@frozen
class Answer:
    """How one question was answered in one tier.

    Attributes:
        tier: The tier.
        category: The question's category.
        found: The share of its evidence among the product's hits.
        brute: The same among the best by brute force.
        differs: Whether the two lists of ids differ at all.
        wrong: Whether they differ by more than the order of ties.
    """

    tier: str
    category: str
    found: float
    brute: float
    differs: bool
    wrong: bool


def ask(mem: Memory, embedder: Embedder, conversation: Conversation) -> list[Answer]:
    """Remembers a conversation in a scope for each tier, asks its questions, and compares with brute force."""
    vectors = _units(embedder.embed([turn.text for turn in conversation.turns]))
    answers = []
    with patch.object(clock, "now", lambda: conversation.end):
        for tier in TIERS:
            handle = mem.scoped(f"{conversation.name} {tier}")
            handle.remember([MemoryItem(turn.text, tier, id=turn.id, at=turn.at) for turn in conversation.turns])
            for question in conversation.questions:
                hits = handle.recall(question.text, k=K, threshold=-1, tier=tier)
                cosines = vectors @ _units(embedder.embed([question.text]))[0]
                scores = cosines if tier == "semantic" else blended(cosines, conversation)
                answers.append(compared(tier, question, [hit.id for hit in hits], conversation.turns, scores))
    return answers


def _units(vectors: Any) -> Numbers:
    exact: Numbers = np.asarray(vectors, np.float64)
    return exact / np.linalg.norm(exact, axis=1, keepdims=True)


def blended(cosines: Numbers, conversation: Conversation) -> Numbers:
    """The scores of episodes with these cosines at the conversation's end, by the formula of the episodic tier."""
    config = EpisodicConfig()
    ages = np.array([(conversation.end - turn.at) / config.half_life for turn in conversation.turns])
    return (1 - config.weight) * cosines + config.weight * 0.5**ages


def compared(tier: str, question: Question, found: list[str], turns: Sequence[Turn], scores: Numbers) -> Answer:
    """The product's ids against the best by `scores`, one for each turn."""
    order = np.argsort(-scores, kind="stable")[:K]
    best = [turns[place].id for place in order]
    score_of = {turn.id: score for turn, score in zip(turns, scores, strict=True)}
    gaps = [abs(score_of[ours] - score_of[theirs]) for ours, theirs in zip(found, best, strict=False)]
    wrong = len(set(found)) != len(best) or max(gaps, default=0.0) > TIES
    return Answer(tier, question.category, _share(question, found), _share(question, best), found != best, wrong)


def _share(question: Question, ids: list[str]) -> float:
    return len(question.evidence.intersection(ids)) / len(question.evidence)


def summarize(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """For each tier a row for all questions, one without the adversarial ones, and one for each category."""
    return [
        _row(tier, name, [answer for answer in answers if answer.tier == tier and belongs(answer)])
        for tier in TIERS
        for name, belongs in _groups(answers).items()
    ]


def _groups(answers: Sequence[Answer]) -> dict[str, Callable[[Answer], bool]]:
    groups: dict[str, Callable[[Answer], bool]] = {
        "all": lambda _: True,
        "all but adversarial": lambda answer: answer.category != "adversarial",
    }
    for name in sorted({answer.category for answer in answers}):
        groups[name] = lambda answer, name=name: answer.category == name  # type: ignore[misc]
    return groups


def _row(tier: str, name: str, answers: Sequence[Answer]) -> dict[str, Any]:
    return {
        "tier": tier,
        "questions": name,
        "number": len(answers),
        f"recall@{K}": _mean([answer.found for answer in answers]),
        "brute force": _mean([answer.brute for answer in answers]),
        "lists that differ": sum(answer.differs for answer in answers),
        "beyond ties": sum(answer.wrong for answer in answers),
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the conversations and their questions are")
    parser.add_argument("--conversation", metavar="NAME", help="the one to ask about; default: the first")
    parser.add_argument("--all", action="store_true", help="ask about all of them")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="static")
    parser.add_argument("--url", help="a Redis to use; default: an embedded one, thrown away afterwards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    return parser.parse_args()


def _chosen(conversations: list[Conversation], options: argparse.Namespace) -> list[Conversation]:
    if options.all:
        return conversations
    name = options.conversation or conversations[0].name
    return [conversation for conversation in conversations if conversation.name == name]


def main() -> None:
    """The command line; ends with an error when a recall isn't what brute force finds."""
    options = _options()
    embedder = EMBEDDERS[options.embedder]()
    conversations = _chosen(load(options.folder), options)
    if not conversations:
        raise SystemExit(f"there is no conversation {options.conversation!r} in {options.folder}")
    with server(options.url) as url, Redis.from_url(url) as client:
        facts = environment(client) | {"embedder": embedder.id, "turns": sum(len(each.turns) for each in conversations)}
        with memory(url, namespace=f"benchmark-{uuid4().hex[:8]}", embedder=embedder) as mem:
            answers = [answer for each in conversations for answer in ask(mem, embedder, each)]
            mem.clear()
    report(
        f"Evidence found in {', '.join(each.name for each in conversations)}", facts, summarize(answers), options.json
    )
    if any(answer.wrong for answer in answers):
        raise SystemExit("a recall is not what brute force finds")


if __name__ == "__main__":
    main()
