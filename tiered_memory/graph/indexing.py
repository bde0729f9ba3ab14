"""What a worker does to index memories in the background: it goes by what stands there then."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tiered_memory.assertions.read import read
from tiered_memory.errors import UnknownTier
from tiered_memory.graph.background import KIND
from tiered_memory.plan import Plan, join, opened
from tiered_memory.store.handling import FailJob, JobPlan, memories_of
from tiered_memory.store.queue import Job

if TYPE_CHECKING:
    from tiered_memory.graph.weave import Weaver
    from tiered_memory.tiers.enabled import Tiers


def indexing(tiers: Tiers) -> dict[str, JobPlan]:
    """The plan of such jobs by their kind; none where memories aren't indexed, so that others do them."""
    return {} if tiers.weaver is None else {KIND: partial(_index, tiers, tiers.weaver)}


def _index(tiers: Tiers, weaver: Weaver, job: Job) -> Plan[None]:
    """Indexes what stands at the ids of a job; doing it again changes nothing."""
    tier, ids = memories_of(job)
    try:
        keeping = tiers[tier].keeping
    except UnknownTier:
        raise FailJob("invalid_payload", again=False) from None
    keyspace = yield from opened()
    standing = yield from join(read(keyspace, keeping, job.scope, id) for id in ids)
    memories = [each.memory for each in standing if each is not None]
    yield from weaver.index(keyspace.of(job.scope), [(keeping.name, memory.id, memory) for memory in memories])
