"""Everything of a scope as one file, to keep or to move it: to another server, embedder or namespace."""

from tiered_memory.archive.lines import Heading, Manifest
from tiered_memory.archive.operations import Archive, AsyncArchive, Loaded, Progress
from tiered_memory.archive.section import Section

__all__ = ["Archive", "AsyncArchive", "Heading", "Loaded", "Manifest", "Progress", "Section"]
