"""What hangs on every handle beside its memories: files, review, the context store, archives, the graph."""

from __future__ import annotations

from tiered_memory.archive import Archive, AsyncArchive
from tiered_memory.files import AsyncFileSystem, FileSystem
from tiered_memory.graph.operations import AsyncGraph, Graph
from tiered_memory.handles import Operations
from tiered_memory.lifecycle import AsyncReview, LifecycleOperations, Review
from tiered_memory.operation import Blocking, NonBlocking
from tiered_memory.store import AsyncStore, Store


class Parts(Operations, LifecycleOperations, Blocking):
    """The parts of a handle whose operations block."""

    @property
    def files(self) -> FileSystem:
        """The files of this scope, kept in our store."""
        return FileSystem(self)

    @property
    def review(self) -> Review:
        """What waits for review in this scope."""
        return Review(self)

    @property
    def store(self) -> Store:
        """The context store of this scope: a tree of documents, sessions, jobs, skills."""
        return Store(self)

    @property
    def archive(self) -> Archive:
        """Exporting all of this scope, and loading what was exported."""
        return Archive(self)

    @property
    def graph(self) -> Graph:
        """What the memories of this scope are about: entities, and the facts that mention them."""
        return Graph(self)


class AsyncParts(Operations, LifecycleOperations, NonBlocking):
    """The parts of a handle whose operations are awaited."""

    @property
    def files(self) -> AsyncFileSystem:
        """The files of this scope, kept in our store."""
        return AsyncFileSystem(self)

    @property
    def review(self) -> AsyncReview:
        """What waits for review in this scope."""
        return AsyncReview(self)

    @property
    def store(self) -> AsyncStore:
        """The context store of this scope: a tree of documents, sessions, jobs, skills."""
        return AsyncStore(self)

    @property
    def archive(self) -> AsyncArchive:
        """Exporting all of this scope, and loading what was exported."""
        return AsyncArchive(self)

    @property
    def graph(self) -> AsyncGraph:
        """What the memories of this scope are about: entities, and the facts that mention them."""
        return AsyncGraph(self)
