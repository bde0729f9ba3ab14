"""Files of a scope, kept in our store or in one of your own through four callbacks."""

from __future__ import annotations

from tiered_memory.files.callbacks import FileCallbacks
from tiered_memory.files.filesystem import AsyncFileSystem, FileSystem
from tiered_memory.files.items import File, FileInfo, FoundLines, Line
from tiered_memory.files.mounts import Mount

__all__ = ["AsyncFileSystem", "File", "FileCallbacks", "FileInfo", "FileSystem", "FoundLines", "Line", "Mount"]
