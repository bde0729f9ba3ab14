"""Processes that work on a namespace while it is moved to another embedder; run as a program.

Each says on lines of its own what it did: the ids that it wrote, or how many records it has embedded.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

import numpy as np
from embedders_for_tests import TableEmbedder

from tiered_memory import EmbedderMismatch, IndexUnavailable, Memory, memory


class SlowEmbedder(TableEmbedder):
    """The one that namespaces are moved to: takes a while for each batch."""

    def __init__(self, pause: float = 0.0) -> None:
        super().__init__({}, id="other", dimensions=5)
        self.pause = pause

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        time.sleep(self.pause)
        return super().embed(texts)


def tell(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def write(mem: Memory, number: int) -> None:
    """Remembers, supersedes, reaffirms with other metadata, and recalls, until it is refused."""
    each = 0
    while True:
        each += 1
        id, text = f"{number}-{each % 40}", f"text {number} {each}"
        try:
            mem.remember(text, id=id, tier="semantic")
            mem.remember("the same", id=f"e{id}", tier="episodic", metadata={"speaker": f"Speaker {each}"})
            assert mem.recall(text, mode="vector", tier="semantic", threshold=0.99)[0].id == id
        except (EmbedderMismatch, IndexUnavailable) as refusal:
            return tell("refused", refusal.code)
        tell(id)
        time.sleep(0.005)


def move(mem: Memory, _: int) -> None:
    """Moves the namespace, and tells how far it is."""
    mem.reembed(progress=tell)
    tell("moved")


def start(work: str, url: str, namespace: str, number: int = 0) -> subprocess.Popen[str]:
    """Starts a process that does one of these."""
    command = [sys.executable, __file__, work, url, namespace, str(number)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


if __name__ == "__main__":
    work, url, namespace, number = sys.argv[1:]
    embedder = SlowEmbedder(0.2) if work == "move" else TableEmbedder()
    with memory(url, namespace=namespace, embedder=embedder) as mem:
        {"write": write, "move": move}[work](mem, int(number))
