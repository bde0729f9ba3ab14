"""The store of a handle: what it is made of, whether it answers, and what it holds."""

from __future__ import annotations

from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.commits import AsyncCommits, Commits
from tiered_memory.store.documents import AsyncDocuments, Documents
from tiered_memory.store.items import TreeStats
from tiered_memory.store.jobs import AsyncJobs, Jobs
from tiered_memory.store.layers import AsyncLayers, Layers
from tiered_memory.store.memories import AsyncMemories, Memories
from tiered_memory.store.ranked import AsyncSearch, Search
from tiered_memory.store.sessions import AsyncSessions, Sessions
from tiered_memory.store.skills import AsyncSkills, Skills
from tiered_memory.store.tags import AsyncTags, Tags
from tiered_memory.store.tree import address
from tiered_memory.store.vectors import AsyncVectors, Vectors


class StoreOperations(Bound):
    """The context store of one scope."""

    @operation
    def healthy(self) -> Plan[bool]:
        """Whether what is stored can be reached at all: one trivial read. Never raises."""
        try:
            keys = yield from self._keys()
            yield from ask(("EXISTS", keys.key("nodes", "tree")), hurried=True)
        except Exception:  # whatever it is, the answer is no
            return False
        return True

    @operation
    def stats(self) -> Plan[TreeStats]:
        """What the scope's tree holds: counted, at a cost that doesn't grow with the number of documents."""
        keys = yield from self._keys()
        ((documents, directories, counts),) = yield from ask(call("tree_stats", keys.scopes, address(keys)))
        by_top_subtree = {text(name): int(count) for name, count in zip(counts[::2], counts[1::2], strict=True)}
        return TreeStats(documents, directories, by_top_subtree)


class Store(StoreOperations, Blocking):
    """The context store of one scope: a tree of documents, and what belongs to it."""

    @property
    def documents(self) -> Documents:
        """Its documents and directories."""
        return Documents(self)

    @property
    def layers(self) -> Layers:
        """The layers of its documents."""
        return Layers(self)

    @property
    def jobs(self) -> Jobs:
        """Its queue of work."""
        return Jobs(self)

    @property
    def tags(self) -> Tags:
        """Marks of whole subtrees: on or off, and groups."""
        return Tags(self)

    @property
    def search(self) -> Search:
        """Finding paths, lines and documents."""
        return Search(self)

    @property
    def vectors(self) -> Vectors:
        """The vectors of its documents."""
        return Vectors(self)

    @property
    def skills(self) -> Skills:
        """Its skills: folders of instructions."""
        return Skills(self)

    @property
    def memories(self) -> Memories:
        """What is remembered below `viking://user/memories`."""
        return Memories(self)

    @property
    def sessions(self) -> Sessions:
        """Its conversations."""
        return Sessions(self)

    @property
    def commits(self) -> Commits:
        """Which conversations were written out where."""
        return Commits(self)


class AsyncStore(StoreOperations, NonBlocking):
    """The context store of one scope: a tree of documents, and what belongs to it."""

    @property
    def documents(self) -> AsyncDocuments:
        """Its documents and directories."""
        return AsyncDocuments(self)

    @property
    def layers(self) -> AsyncLayers:
        """The layers of its documents."""
        return AsyncLayers(self)

    @property
    def jobs(self) -> AsyncJobs:
        """Its queue of work."""
        return AsyncJobs(self)

    @property
    def tags(self) -> AsyncTags:
        """Marks of whole subtrees: on or off, and groups."""
        return AsyncTags(self)

    @property
    def search(self) -> AsyncSearch:
        """Finding paths, lines and documents."""
        return AsyncSearch(self)

    @property
    def vectors(self) -> AsyncVectors:
        """The vectors of its documents."""
        return AsyncVectors(self)

    @property
    def skills(self) -> AsyncSkills:
        """Its skills: folders of instructions."""
        return AsyncSkills(self)

    @property
    def memories(self) -> AsyncMemories:
        """What is remembered below `viking://user/memories`."""
        return AsyncMemories(self)

    @property
    def sessions(self) -> AsyncSessions:
        """Its conversations."""
        return AsyncSessions(self)

    @property
    def commits(self) -> AsyncCommits:
        """Which conversations were written out where."""
        return AsyncCommits(self)
