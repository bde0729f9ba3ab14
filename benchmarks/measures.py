"""How good a ranked list is, and means of that by category."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log2
from statistics import fmean
from typing import Any

from attrs import frozen

DEPTHS = (5, 10, 20)
"""Of how many hits the share of the evidence is taken."""


@frozen
class Answer:
    """What one method found for one question."""

    method: str
    category: str
    figures: dict[str, float]


def figures(found: Sequence[str], evidence: frozenset[str]) -> dict[str, float]:
    """Recall at each depth, the reciprocal rank of the first evidence, and nDCG@10, all in [0, 1].

    nDCG as in Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), each piece of
    evidence gaining 1.
    """
    hits = [each in evidence for each in found]
    ideal = sum(1 / log2(rank + 2) for rank in range(min(len(evidence), 10)))
    return {f"recall@{depth}": sum(hits[:depth]) / len(evidence) for depth in DEPTHS} | {
        "MRR": next((1 / rank for rank, hit in enumerate(hits[: max(DEPTHS)], 1) if hit), 0.0),
        "nDCG@10": sum(hit / log2(rank + 2) for rank, hit in enumerate(hits[:10])) / ideal,
    }


def table(answers: Sequence[Answer]) -> list[dict[str, Any]]:
    """A row for each method and for all questions, for those without the adversarial ones, and for each category."""
    return [
        _row(group, method, [each for each in answers if each.method == method and belongs(each)])
        for group, belongs in _groups(answers).items()
        for method in dict.fromkeys(answer.method for answer in answers)
    ]


def _groups(answers: Sequence[Answer]) -> dict[str, Callable[[Answer], bool]]:
    categories = sorted({answer.category for answer in answers})
    groups: dict[str, Callable[[Answer], bool]] = {"all": lambda _: True}
    if len(categories) > 1:
        if "adversarial" in categories:
            groups["all but adversarial"] = lambda answer: answer.category != "adversarial"
        for name in categories:
            groups[name] = lambda answer, name=name: answer.category == name  # type: ignore[misc]
    return groups


def _row(group: str, method: str, answers: Sequence[Answer]) -> dict[str, Any]:
    means = {name: fmean(answer.figures[name] for answer in answers) for name in answers[0].figures}
    return {"questions": group, "method": method, "number": len(answers)} | means
