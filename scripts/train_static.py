"""Trains the table of `StaticEmbedder`: the mean of a text's rows learns to point where MiniLM points.

    apt-get install wordnet-base
    pip install 'tiered-memory[local]'
    python scripts/train_static.py /usr/share/wordnet table.npz

The texts are WordNet's definitions and examples. The teacher's vectors are projected on their strongest
directions; each row starts as the teacher's vector of that wordpiece alone, and is then fitted by gradient
descent (Adagrad).
Takes a few minutes on two cores, most of them the teacher's. The same seed gives the same table.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tiered_memory.embedders import MiniLMEmbedder
from tiered_memory.embedders.static import pieces
from tiered_memory.embedders.wordpiece import WordPiece

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiered_memory.embedders.base import Vectors

BATCH = 256
RATE = 0.05
HELD_OUT = 0.05
"""The share of the texts that is kept back to measure on."""


def main() -> None:
    """Reads the arguments, trains, reports the cosine to the teacher on held-out texts, writes the table."""
    options = _arguments().parse_args()
    rng = np.random.default_rng(options.seed)
    vocabulary = pieces()
    wordpiece = WordPiece({piece: row for row, piece in enumerate(vocabulary)})
    known = [text for text in dict.fromkeys(glosses(options.wordnet)) if wordpiece.ids(text)]
    texts = [known[at] for at in rng.permutation(len(known))[: options.limit]]
    teacher = MiniLMEmbedder(threads=options.threads)
    print(f"{len(texts)} texts and {len(vocabulary)} wordpieces go through {teacher.id}")
    vectors = centred(teacher.embed(texts))
    single = centred(teacher.embed([piece.removeprefix("##") for piece in vocabulary]))

    ids = [np.array(wordpiece.ids(text)) for text in texts]
    basis = strongest(vectors, options.dimensions)
    targets = unit(vectors @ basis)
    table = unit(single @ basis)
    kept = max(1, int(len(texts) * HELD_OUT))
    print(f"cosine to the teacher before training: {agreement(table, ids[:kept], targets[:kept]):.3f}")
    for epoch, trained in enumerate(train(table, ids[kept:], targets[kept:], options.epochs, rng), 1):
        table = trained
        print(f"after epoch {epoch}: {agreement(table, ids[:kept], targets[:kept]):.3f}")
    save(options.table, table, vocabulary)


def glosses(folder: Path) -> Iterator[str]:
    """The definitions and examples in WordNet's `data.*` files, in the order of the files."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("utf-8").splitlines():
            _, bar, gloss = line.partition(" | ")
            if bar:
                yield gloss.split('"')[0].strip("; ")
                yield from re.findall(r'"([^"]+)"', gloss)


def centred(vectors: Vectors) -> Vectors:
    """`vectors` without what all of them share, which would make any two texts look alike."""
    shared: Vectors = vectors.mean(axis=0)
    return vectors - shared


def strongest(vectors: Vectors, dimensions: int) -> Vectors:
    """The orthonormal directions, as columns, that keep most of the length of `vectors`."""
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    return axes[:, ::-1][:, :dimensions]


def train(
    table: Vectors, ids: Sequence[NDArray[np.int64]], targets: Vectors, epochs: int, rng: np.random.Generator
) -> Iterator[Vectors]:
    """The table after each epoch of raising the cosine between a text's summed rows and its unit target."""
    table = table.copy()
    squares = np.full_like(table, 1e-8)
    for _ in range(epochs):
        order = rng.permutation(len(ids))
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            rows, gradient = _gradient(table, [ids[at] for at in batch], targets[batch])
            squares[rows] += gradient**2
            table[rows] += RATE * gradient / np.sqrt(squares[rows])
        yield table


def agreement(table: Vectors, ids: Sequence[NDArray[np.int64]], targets: Vectors) -> float:
    """The mean cosine between the texts' summed rows and their unit targets."""
    return float((unit(_sums(table, ids)) * targets).sum(axis=1).mean())


def unit(vectors: Vectors) -> Vectors:
    """Each row made unit length."""
    units: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return units


def save(file: Path, table: Vectors, vocabulary: Sequence[str]) -> None:
    """Writes the table as `StaticEmbedder` reads it: int8 rows, a float16 scale for each, the pieces."""
    scale = (np.abs(table).max(axis=1) / 127).astype(np.float16)
    rows = np.rint(table / scale.astype(np.float32)[:, None]).clip(-127, 127).astype(np.int8)
    vocab = np.frombuffer("\n".join(vocabulary).encode(), np.uint8)
    np.savez_compressed(file, table=rows, scale=scale, vocab=vocab)


def _gradient(table: Vectors, ids: Sequence[NDArray[np.int64]], targets: Vectors) -> tuple[NDArray[np.int64], Vectors]:
    """The rows that occur in the texts, and by how much each of them raises the texts' summed cosine."""
    sums = _sums(table, ids)
    length = np.linalg.norm(sums, axis=1, keepdims=True)
    direction = sums / length
    cosine = (direction * targets).sum(axis=1, keepdims=True)
    by_text = (targets - cosine * direction) / length
    flat = np.concatenate(ids)
    order = np.argsort(flat, kind="stable")
    rows, starts = np.unique(flat[order], return_index=True)
    by_piece = by_text[np.repeat(np.arange(len(ids)), [len(text) for text in ids])]
    return rows, np.add.reduceat(by_piece[order], starts)


def _sums(table: Vectors, ids: Sequence[NDArray[np.int64]]) -> Vectors:
    starts = np.cumsum([0, *(len(text) for text in ids[:-1])])
    return np.add.reduceat(table[np.concatenate(ids)], starts)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Trains the table of StaticEmbedder from WordNet and MiniLM.")
    parser.add_argument("wordnet", type=Path, help="the folder with WordNet's data.noun, data.verb, ...")
    parser.add_argument("table", type=Path, help="the .npz file to write")
    parser.add_argument("--limit", type=int, default=75_000, help="how many texts (%(default)s)")
    parser.add_argument("--dimensions", type=int, default=128, help="length of a vector (%(default)s)")
    parser.add_argument("--epochs", type=int, default=4, help="passes over the texts (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of every random choice (%(default)s)")
    parser.add_argument("--threads", type=int, help="cores for the teacher (all)")
    return parser


if __name__ == "__main__":
    main()
