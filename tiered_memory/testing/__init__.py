"""Contracts to run, with pytest, against an embedder or a file store of one's own."""

from __future__ import annotations

from tiered_memory.testing.embedders import EmbedderContract
from tiered_memory.testing.files import FileStoreContract

__all__ = ["EmbedderContract", "FileStoreContract"]
