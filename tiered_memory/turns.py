"""What is known of a turn beside its words: who said it, in which conversation, when, and whether it asks; pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import frozen

from tiered_memory.clock import from_micros
from tiered_memory.engine.reply import Fields
from tiered_memory.relevance import Question

_WORD = re.compile(r"\w+")


@frozen
class TurnRules:
    """How much else than its own words and meaning tells for a turn; 0 switches a rule off.

    Attributes:
        neighbours: How much each of its two neighbours in the conversation counts, by its own weight of 1.
        month: What a turn gains that lies in a month which the question names.
        speaker: What a turn gains that was said by the only speaker whom the question names.
        question: What a turn loses that ends as a question does: it asks for what is asked for, too.
    """

    neighbours: float = 0.0
    month: float = 0.0
    speaker: float = 0.0
    question: float = 0.0

    def matter(self, question: Question) -> bool:
        """Whether any rule can tell for an answer to `question`."""
        return bool(self.neighbours or self.speaker or self.question or (self.month and question.months))


NO_RULES = TurnRules()


@frozen
class Turn:
    """A row as a turn of a conversation.

    Attributes:
        place: Its place in the order of its tier and scope, or -1.
        conversation: The conversation that its metadata names, or None.
        speaker: The speaker whom its metadata names, or None.
        month: The year and month in which it happened, in UTC.
        asks: Whether it ends as a question does.
    """

    place: int
    conversation: str | None
    speaker: str | None
    month: tuple[int, int]
    asks: bool

    @property
    def has_neighbours(self) -> bool:
        """Whether it is one of several turns in an order."""
        return self.conversation is not None and self.place >= 0

    @classmethod
    def of(cls, fields: Fields, place: int) -> Turn:
        """The turn that a row's fields say; to be called within `as_written`."""
        raw = fields.get(b"metadata", b"{}")
        metadata = json.loads(raw) if b'"conversation"' in raw or b'"speaker"' in raw else {}
        at = from_micros(int(fields[b"at"]))
        asks = fields[b"text"].rstrip().endswith((b"?", "\uff1f".encode()))
        return cls(place, _name(metadata, "conversation"), speaker_of(metadata), (at.year, at.month), asks)


def speaker_of(metadata: Mapping[str, Any]) -> str | None:
    """The speaker whom an item's metadata names, or None."""
    return _name(metadata, "speaker")


def _name(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return str(value) if isinstance(value, str | int) and str(value).strip() else None


def previous(turns: Sequence[Turn]) -> list[int | None]:
    """For each turn where among `turns` the one stands that its conversation has just before it, or None."""
    places = _places(turns)
    found = [places.get(turn.place - 1) if turn.has_neighbours else None for turn in turns]
    return [
        one if one is not None and turns[one].conversation == turn.conversation else None
        for one, turn in zip(found, turns, strict=True)
    ]


def lent(scores: Sequence[float], turns: Sequence[Turn], share: float, size: int) -> list[float]:
    """Each score as the weighted mean of its own and its two neighbours'; what has no conversation keeps its own.

    A neighbour that wasn't found counts nothing. Where the conversation is known to end, the other neighbour counts
    in place of the one that there can't be; `size` is how many turns there are.
    """
    places = _places(turns)

    def neighbour(turn: Turn, place: int) -> float | None:
        one = places.get(place)
        if one is None:
            return 0.0 if 0 <= place < size else None
        return scores[one] if turns[one].conversation == turn.conversation else None

    found = []
    for score, turn in zip(scores, turns, strict=True):
        if share and turn.has_neighbours:
            before, after = neighbour(turn, turn.place - 1), neighbour(turn, turn.place + 1)
            only = score if before is None and after is None else (before or 0.0) + (after or 0.0)
            sides = 2 * only if before is None or after is None else only
            found.append((score + share * sides) / (1 + 2 * share))
        else:
            found.append(score)
    return found


def _places(turns: Sequence[Turn]) -> dict[int, int]:
    return {turn.place: each for each, turn in enumerate(turns) if turn.place >= 0}


def favours(question: Question, turns: Sequence[Turn], rules: TurnRules) -> Iterator[dict[str, float]]:
    """What else each turn gains or loses, by the name of the rule."""
    speaker = _only_speaker(question, turns) if rules.speaker else None
    for turn in turns:
        gains = {}
        if rules.month and any(
            turn.month[1] == month and year in (None, turn.month[0]) for year, month in question.months
        ):
            gains["month"] = rules.month
        if speaker is not None and turn.speaker == speaker:
            gains["speaker"] = rules.speaker
        if rules.question and turn.asks:
            gains["question"] = -rules.question
        yield gains


def _only_speaker(question: Question, turns: Sequence[Turn]) -> str | None:
    """The one speaker of the turns whose name, or first name, stands in the question."""
    asked = set(_WORD.findall(question.text.casefold()))
    speakers = dict.fromkeys(turn.speaker for turn in turns if turn.speaker)
    named = [name for name in speakers if (first := _WORD.findall(name.casefold())[:1]) and first[0] in asked]
    return named[0] if len(named) == 1 else None
