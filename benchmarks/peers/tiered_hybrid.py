"""This package as it comes: semantic memory, by similarity and words."""

from __future__ import annotations

from protocol import serve
from tiered import TieredMemory


class HybridMemory(TieredMemory):
    """The same calls in the mode that is the default."""

    mode = "hybrid"


if __name__ == "__main__":
    serve(HybridMemory)
