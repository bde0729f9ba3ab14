"""Sets with known right answers: updates of knowledge, recency, reinforcement, and other words for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta, timezone
from typing import Any, TypeAlias
from unittest.mock import patch

import texts

from tiered_memory import Hits, Memory, MemoryItem, ScopedMemory, clock
from tiered_memory.items import Mode

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
K = 10
USES = 5
"""How often a proven procedure is remembered."""

Verdict: TypeAlias = "tuple[str, bool]"
"""What was asked of a recall, and whether it did it."""
Check: TypeAlias = Callable[[Mode], Iterator[Verdict]]


def at(moment: datetime) -> AbstractContextManager[object]:
    """Sets the product's clock to `moment`."""
    return patch.object(clock, "now", lambda: moment)


def measure(mem: Memory, modes: Sequence[Mode]) -> list[dict[str, Any]]:
    """Remembers the sets, each in a scope of its own, and asks them in each mode: a row for each mode and promise."""
    rows = []
    for number, prepare in enumerate((updates, recency, stale, reinforcement, unproven, paraphrases)):
        check = prepare(mem.scoped(f"set {number}"))
        for mode in modes:
            with at(NOW):
                verdicts = list(check(mode))
            for promise in dict.fromkeys(name for name, _ in verdicts):
                kept = [right for name, right in verdicts if name == promise]
                rows.append({"promise": promise, "mode": mode, "cases": len(kept), "kept": sum(kept) / len(kept)})
    return sorted(rows, key=lambda row: str(row["promise"]))


def updates(handle: ScopedMemory) -> Check:
    """What is known of people changes twice, a month apart each time."""
    histories = {(person, kind): texts.history(place, kind) for place, person in enumerate(texts.PEOPLE)
                 for kind in texts.KINDS}  # fmt: skip
    moments = [NOW - timedelta(days=30 * months) for months in (3, 2, 1)]
    for version, moment in enumerate(moments):
        with at(moment):
            handle.remember([
                MemoryItem(history[version], "semantic", id=f"{person} {kind}")
                for (person, kind), history in histories.items()
            ])  # fmt: skip

    def check(mode: Mode) -> Iterator[Verdict]:
        for (person, kind), history in histories.items():
            question = texts.KINDS[kind].question.format(person)
            for version, moment in enumerate(moments):
                then = None if version == len(moments) - 1 else moment + timedelta(days=10)
                believed = {each[version] for each in histories.values()}
                found = _texts(handle.recall(question, k=K, tier="semantic", mode=mode, as_of=then))
                when = "now" if then is None else "as of then"
                yield f"updates, {when}: nothing of another time", believed.issuperset(found)
                yield f"updates, {when}: the right one first", found[:1] == [history[version]]

    return check


def recency(handle: ScopedMemory) -> Check:
    """The same events happened yesterday and forty days ago."""
    ages = {"fresh": timedelta(days=1), "old": timedelta(days=40)}
    _remember(handle, "episodic", [(f"{age} {event}", event, ages[age]) for age in ages for event in texts.EVENTS])
    return _pairs(handle, "episodic", texts.EVENTS, "fresh", "old", "recency: of equals the fresh one first")


def stale(handle: ScopedMemory) -> Check:
    """The events happened long ago, and what happened just now has nothing to do with them."""
    _remember(handle, "episodic", [(event, event, timedelta(days=200)) for event in texts.EVENTS])
    _remember(handle, "episodic", [(each, each, timedelta(minutes=1)) for each in texts.CHATTER])
    return _undisturbed(handle, "episodic", texts.EVENTS, "recency: nothing fresh before what is asked for")


def reinforcement(handle: ScopedMemory) -> Check:
    """Of two equal procedures one was remembered several times."""
    for prefix in ("proven", *["proven"] * (USES - 1), "new"):
        _remember(handle, "procedural", [(f"{prefix} {how}", how, timedelta(days=1)) for how in texts.PROCEDURES])
    promise = "reinforcement: of equals the proven one first"
    return _pairs(handle, "procedural", texts.PROCEDURES, "proven", "new", promise)


def unproven(handle: ScopedMemory) -> Check:
    """The procedures were remembered once, and others that have nothing to do with them several times."""
    _remember(handle, "procedural", [(how, how, timedelta(days=1)) for how in texts.PROCEDURES])
    for _ in range(USES):
        _remember(handle, "procedural", [(each, each, timedelta(days=1)) for each in texts.CHATTER])
    promise = "reinforcement: nothing proven before what is asked for"
    return _undisturbed(handle, "procedural", texts.PROCEDURES, promise)


def paraphrases(handle: ScopedMemory) -> Check:
    """Facts that are asked for in other words, among others."""
    others = [*texts.EVENTS, *texts.PROCEDURES, *texts.CHATTER]
    _remember(handle, "semantic", [(fact, fact, timedelta(days=1)) for fact in [*texts.PARAPHRASES, *others]])

    def check(mode: Mode) -> Iterator[Verdict]:
        for fact, question in texts.PARAPHRASES.items():
            found = _texts(handle.recall(question, k=K, tier="semantic", mode=mode))
            yield "other words: the right one first", found[:1] == [fact]
            yield f"other words: among the first {K}", fact in found

    return check


def _pairs(handle: ScopedMemory, tier: str, asked: dict[str, str], better: str, worse: str, promise: str) -> Check:
    def check(mode: Mode) -> Iterator[Verdict]:
        for text, question in asked.items():
            found = [hit.id for hit in handle.recall(question, k=K, tier=tier, mode=mode)]
            pair = [each for each in found if each in (f"{better} {text}", f"{worse} {text}")]
            yield promise, pair == [f"{better} {text}", f"{worse} {text}"]

    return check


def _undisturbed(handle: ScopedMemory, tier: str, asked: dict[str, str], promise: str) -> Check:
    def check(mode: Mode) -> Iterator[Verdict]:
        for text, question in asked.items():
            found = _texts(handle.recall(question, k=K, tier=tier, mode=mode))
            yield promise, text in found and not set(texts.CHATTER) & set(found[: found.index(text)])

    return check


def _remember(handle: ScopedMemory, tier: str, rows: Sequence[tuple[str, str, timedelta]]) -> None:
    """Remembers rows of id, text and age."""
    with at(NOW):
        handle.remember([MemoryItem(text, tier, id=name, at=NOW - age) for name, text, age in rows])


def _texts(hits: Hits) -> list[str]:
    return [hit.text for hit in hits]
