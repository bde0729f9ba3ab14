"""What a recall finds, beside cosine by brute force and BM25, and whether it does what it promises.

    python benchmarks/quality.py [FOLDER] [--embedder static|minilm] [--variants] [--json FILE] [--url URL]

FOLDER holds one JSON object a line: `*_memories.jsonl` (turns: `id`, `scope`, `session`, `turn`, `time`, `speaker`,
`text`), `*_questions.jsonl` (`scope`, `question`, `category`, `evidence`: ids of turns), and if there are any,
`*_observations.jsonl` (facts: `id`, `scope`, `time`, `text`, `sources`: ids of turns) and `*_probe.jsonl` (`id`,
`memory`, `question`: pairs in different words). Without a folder only the generated sets are asked.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import generated
import variants
from attrs import frozen
from baselines import BM25, Cosines, KeptVectors, best, blended, is_best
from common import environment, server, show
from conversations import Collection, load_facts, load_probe, load_turns
from measures import DEPTHS, Answer, figures, table
from redis import Redis

from tiered_memory import Memory, memory
from tiered_memory.embedders import Embedder, MiniLMEmbedder, StaticEmbedder
from tiered_memory.items import Mode

K = max(DEPTHS)
MODES: tuple[Mode, ...] = get_args(Mode)
EMBEDDERS: dict[str, Callable[[], Embedder]] = {"static": StaticEmbedder, "minilm": MiniLMEmbedder}
LOADED: dict[str, Callable[[Path], list[Collection]]] = {
    "Turns of conversations": load_turns,
    "Facts from conversations": load_facts,
    "Paraphrases among turns": load_probe,
}

Tables = dict[str, list[dict[str, Any]]]


@frozen
class Asked:
    """What all methods found for the questions of a collection, and how many lists of `vector` aren't the best."""

    answers: list[Answer]
    wrong: int


def ask(mem: Memory, embedder: KeptVectors, collection: Collection) -> Asked:
    """Remembers a collection in a scope of its own, and asks its questions as of its end."""
    cosines, bm25 = Cosines(collection, embedder), BM25(collection)
    answers, wrong = [], 0
    with generated.at(collection.end):
        handle = mem.scoped(collection.name)
        handle.remember([each.item(collection.tier) for each in collection.memories])
        for question in collection.questions:
            near = cosines(question.text)
            found = {"cosine": best(collection, near, K), "BM25": best(collection, bm25(question.text), K)}
            for mode in MODES:
                hits = handle.recall(question.text, k=K, tier=collection.tier, mode=mode)
                found[mode] = [hit.id for hit in hits]
            wrong += not is_best(found["vector"], collection, blended(collection, near, embedder.floor or 0.0), K)
            answers += [
                Answer(method, question.category, figures(ids, question.evidence)) for method, ids in found.items()
            ]
    return Asked(answers, wrong)


def measure(url: str, embedder: Embedder, folder: Path | None) -> tuple[Tables, int]:
    """The tables, and how many lists of the mode `vector` are not what brute force finds."""
    kept = KeptVectors(embedder)
    tables: Tables = {}
    wrong = 0
    with memory(url, namespace=f"benchmark-{uuid4().hex[:8]}", embedder=kept) as mem:
        for title, collections in _loaded(folder).items():
            asked = [ask(mem, kept, collection) for collection in collections]
            wrong += sum(each.wrong for each in asked)
            if answers := [answer for each in asked for answer in each.answers]:
                tables[title] = table(answers)
            mem.clear()
        tables["Generated sets"] = generated.measure(mem, MODES)
        mem.clear()
    return tables, wrong


def _loaded(folder: Path | None) -> dict[str, list[Collection]]:
    return {} if folder is None else {title: load(folder) for title, load in LOADED.items()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="where conversations and their questions are")
    parser.add_argument("--embedder", choices=EMBEDDERS, default="static")
    parser.add_argument("--variants", action="store_true", help="measure what each rule buys, instead")
    parser.add_argument("--url", help="a Redis to use; default: one of its own, thrown away afterwards")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    return parser.parse_args()


def write(file: Path, facts: dict[str, Any], tables: Tables) -> None:
    """Writes what a second run would write again, byte for byte."""
    lasting = {name: value for name, value in facts.items() if name not in ("date", "cpus")}
    file.write_text(json.dumps({"facts": lasting, "tables": tables}, indent=2) + "\n")


def main(options: argparse.Namespace) -> None:
    """The command line; ends with an error when mode `vector` isn't what brute force finds."""
    embedder = EMBEDDERS[options.embedder]()
    with server(options.url) as url, Redis.from_url(url) as client:
        facts = environment(client) | {"embedder": embedder.id, "k": K}
        if options.variants:
            tables, wrong = dict(variants.measure(url, KeptVectors(embedder), options.folder)), 0
        else:
            tables, wrong = measure(url, embedder, options.folder)
    show(facts, tables)
    if options.json:
        write(options.json, facts, tables)
    if wrong:
        raise SystemExit(f"{wrong} lists of mode vector are not what brute force finds")


if __name__ == "__main__":
    main(_options())
