"""What a worker does to index memories in the background: it goes by what stands there then."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import read
from tiered_memory.checks import check_id
from tiered_memory.errors import TieredMemoryError
from tiered_memory.graph.background import KIND
from tiered_memory.plan import Plan, join, opened
from tiered_memory.store.handling import FailJob, JobPlan
from tiered_memory.store.queue import Job

if TYPE_CHECKING:
    from tiered_memory.graph.weave import Weaver
    from tiered_memory.tiers.enabled import Tiers


def indexing(tiers: Tiers) -> dict[str, JobPlan]:
    """The plan of such jobs by their kind; none where memories aren't indexed, so that others do them."""
    return {} if tiers.weaver is None else {KIND: partial(_index, tiers, tiers.weaver)}


def _index(tiers: Tiers, weaver: Weaver, job: Job) -> Plan[None]:
    """Indexes what stands at the ids of a job; doing it again changes nothing."""
    keeping, ids = _named(tiers, job)
    keyspace = yield from opened()
    standing = yield from join(read(keyspace, keeping, job.scope, id) for id in ids)
    memories = [each.memory for each in standing if each is not None]
    yield from weaver.index(keyspace.of(job.scope), [(keeping.name, memory.id, memory) for memory in memories])


def _named(tiers: Tiers, job: Job) -> tuple[Keeping, list[str]]:
    """The tier and the ids that a job names."""
    try:
        return tiers[job.payload["tier"]].keeping, [check_id(id) for id in job.payload["ids"]]
    except (KeyError, TypeError, TieredMemoryError):
        raise FailJob("invalid_payload", again=False) from None
