"""The context store of a scope: documents with layers in a tree of URIs, and what works on them."""

from __future__ import annotations

from tiered_memory.store.commits import AsyncCommits, Commit, Commits
from tiered_memory.store.context import SessionContext
from tiered_memory.store.documents import AsyncDocuments, Documents
from tiered_memory.store.handle import AsyncStore, Store
from tiered_memory.store.handling import DeferJob, FailJob
from tiered_memory.store.hits import Found, LineMatch, PathMatch
from tiered_memory.store.items import CountedPage, Delivery, Document, Node, Row, StoredLayers, TreeStats, Written
from tiered_memory.store.jobs import AsyncJobs, Jobs
from tiered_memory.store.layers import AsyncLayers, Layers
from tiered_memory.store.listing import Filter
from tiered_memory.store.memories import AsyncMemories, Memories, MemoryCounts
from tiered_memory.store.messages import Message, Restore
from tiered_memory.store.queue import FailedJob, Job, QueueDetail
from tiered_memory.store.ranked import AsyncSearch, DocumentHits, Search, SearchMode
from tiered_memory.store.sessions import AsyncSessions, Sessions
from tiered_memory.store.skill_items import ImportedSkill, Replaced, Skill, SkillFilter
from tiered_memory.store.skills import AsyncSkills, Skills
from tiered_memory.store.tags import AsyncTags, Tags
from tiered_memory.store.vectors import AsyncVectors, Vectors, VectorStats
from tiered_memory.store.work_events import JobEvent, WorkReport

__all__ = [
    "AsyncCommits",
    "AsyncDocuments",
    "AsyncJobs",
    "AsyncLayers",
    "AsyncMemories",
    "AsyncSearch",
    "AsyncSessions",
    "AsyncSkills",
    "AsyncStore",
    "AsyncTags",
    "AsyncVectors",
    "Commit",
    "Commits",
    "CountedPage",
    "DeferJob",
    "Delivery",
    "Document",
    "DocumentHits",
    "Documents",
    "FailJob",
    "FailedJob",
    "Filter",
    "Found",
    "ImportedSkill",
    "Job",
    "JobEvent",
    "Jobs",
    "Layers",
    "LineMatch",
    "Memories",
    "MemoryCounts",
    "Message",
    "Node",
    "PathMatch",
    "QueueDetail",
    "Replaced",
    "Restore",
    "Row",
    "Search",
    "SearchMode",
    "SessionContext",
    "Sessions",
    "Skill",
    "SkillFilter",
    "Skills",
    "Store",
    "StoredLayers",
    "Tags",
    "TreeStats",
    "VectorStats",
    "Vectors",
    "WorkReport",
    "Written",
]
