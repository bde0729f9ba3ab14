"""Asking for memories to be indexed in the background: by a durable job, after the write."""

from __future__ import annotations

from collections.abc import Iterable

from tiered_memory.assertions.memory_jobs import memory_jobs
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.items import Remembered
from tiered_memory.plan import Plan

KIND = "index_memories"
"""The kind of such jobs. What is to be indexed is read when the job is done."""


def enqueue(keys: ScopeKeys, written: Iterable[Remembered]) -> Plan[None]:
    """Enqueues the jobs that index these memories of a scope."""
    from tiered_memory.store.job_log import JobLog  # whose package has the handles, which have the graph

    log = JobLog(keys.scope, "")
    for kind, payload in memory_jobs(KIND, ((each.tier, each.id) for each in written)):
        yield from log.enqueue(kind, payload)
