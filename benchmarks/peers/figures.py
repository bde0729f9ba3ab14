"""What the answers of the contenders come to."""

from __future__ import annotations

from typing import Any

import numpy as np

from peers.entry import Entry
from peers.protocol import K, Workload

_FIGURES = (
    "adds/s", "batched/s", "p50 ms", "p95 ms", "p99 ms", "p50 / ours", "ours / adds", "ours / batched", "bytes",
    "recall", "foreign",
)  # fmt: skip


def exact(workload: Workload) -> list[set[int]]:
    """For each question the ten memories of its scope that are nearest to it, by brute force."""
    best = []
    for number, question in enumerate(workload.question_vectors):
        own = np.arange(number % workload.scopes, len(workload.vectors), workload.scopes)
        order = np.argsort(-(workload.vectors[own] @ question), kind="stable")[:K]
        best.append(set(own[order].tolist()))
    return best


def row(entry: Entry, ours: Entry | None, workload: Workload, best: list[set[int]]) -> dict[str, Any]:
    """The figures of one contender, and how many times as slow as ours it is."""
    if entry.remark:
        return {"contender": entry.name} | dict.fromkeys(_FIGURES) | {"versions or why not": entry.remark}
    p50, p95, p99 = np.percentile(np.array(entry.seconds["recall"]) * 1e3, [50, 95, 99]).tolist()
    shares = [len(right.intersection(found)) / len(right) for right, found in zip(best, entry.found, strict=True)]
    figures = (
        entry.rate("add"), entry.rate("batch"), p50, p95, p99,
        _ratio(p50, _median(ours)),
        _ratio(_rate(ours, "add"), entry.rate("add")),
        _ratio(_rate(ours, "batch"), entry.rate("batch")),
        entry.bytes // max(sum(entry.added.values()), 1), float(np.mean(shares)), _foreign(entry, workload),
    )  # fmt: skip
    versions = entry.about["versions"]
    return {"contender": entry.name} | dict(zip(_FIGURES, figures, strict=True)) | {"versions or why not": versions}


def _ratio(above: float | None, below: float | None) -> float | None:
    return above / below if above and below else None


def _median(entry: Entry | None) -> float | None:
    return None if entry is None else float(np.median(entry.seconds["recall"])) * 1e3


def _rate(entry: Entry | None, verb: str) -> float | None:
    return None if entry is None else entry.rate(verb)


def _foreign(entry: Entry, workload: Workload) -> int:
    """How many of the memories that it found are of another scope, or unknown."""
    return sum(
        number < 0 or workload.scope(number) != workload.scope(asked)
        for asked, found in enumerate(entry.found)
        for number in found
    )
