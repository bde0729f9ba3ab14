"""What each rule of a hybrid recall buys: the same questions with one of them switched off, or with the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import generated
from baselines import KeptVectors
from conversations import Collection, load_facts, load_probe, load_turns
from measures import DEPTHS, Answer, figures, table

from tiered_memory import memory

VARIANTS: dict[str, Mapping[str, Any]] = {
    "all rules": {},
    "no neighbours": {"episodic": {"neighbours": 0}},
    "no months": {"episodic": {"month": 0}, "semantic": {"month": 0}},
    "no speakers": {"episodic": {"speaker": 0}},
    "no questions": {"episodic": {"question": 0}},
    "no recency": {"episodic": {"weight": 0}},
    "no rules": {
        "episodic": {"neighbours": 0, "month": 0, "speaker": 0, "question": 0, "weight": 0},
        "semantic": {"month": 0},
    },
    "half precision": {"vectors": "float16"},
    "graph: boost": {"graph": True},
    "graph: boost by PageRank": {"graph": {"walk": True}},
    "graph: filter": {"graph": {"recall": "filter"}},
}


def measure(url: str, embedder: KeptVectors, folder: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A table for each kind of collection, with a row for each variant and category."""
    for title, load in (("turns", load_turns), ("facts", load_facts), ("paraphrases", load_probe)):
        collections = load(folder)
        yield f"Variants: {title}", table([
            answer
            for name, settings in VARIANTS.items()
            for each in collections
            for answer in _asked(url, embedder, each, name, settings)
        ])  # fmt: skip


def _asked(
    url: str, embedder: KeptVectors, collection: Collection, name: str, settings: Mapping[str, Any]
) -> Iterator[Answer]:
    """What one variant finds for the questions of a collection, asked as of its end."""
    namespace = f"benchmark-{uuid4().hex[:8]}"
    with memory(url, namespace=namespace, embedder=embedder, **settings) as mem, generated.at(collection.end):
        handle = mem.scoped(collection.name)
        handle.remember([each.item(collection.tier) for each in collection.memories])
        for question in collection.questions:
            hits = handle.recall(question.text, k=max(DEPTHS), tier=collection.tier, mode="hybrid")
            yield Answer(name, question.category, figures([hit.id for hit in hits], question.evidence))
        mem.clear()
