"""Asking for memories to be indexed in the background: a durable job for each tier, after the write."""

from __future__ import annotations

from collections.abc import Iterable

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.items import Remembered
from tiered_memory.plan import Plan

KIND = "index_memories"
"""The kind of such jobs. Their payload names a tier and ids; texts are read when the job is done."""

_AT_ONCE = 100
"""How many memories one job indexes at the most."""


def enqueue(keys: ScopeKeys, written: Iterable[Remembered]) -> Plan[None]:
    """Enqueues the jobs that index these memories of a scope."""
    from tiered_memory.store.job_log import JobLog  # whose package has the handles, which have the graph

    by_tier: dict[str, dict[str, None]] = {}
    for each in written:
        by_tier.setdefault(each.tier, {})[each.id] = None
    log = JobLog(keys.scope, "")
    payloads = [
        {"tier": tier, "ids": [*ids][start : start + _AT_ONCE]}
        for tier, ids in by_tier.items()
        for start in range(0, len(ids), _AT_ONCE)
    ]
    for payload in payloads:
        yield from log.enqueue(KIND, payload)
