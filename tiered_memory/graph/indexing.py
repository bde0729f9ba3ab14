"""What a worker does to index memories in the background: it goes by what stands there then."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.assertions.read import gone, read
from tiered_memory.checks import check_id
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.errors import TieredMemoryError
from tiered_memory.graph import stored
from tiered_memory.graph.background import KIND
from tiered_memory.graph.items import IndexEntry
from tiered_memory.items import Assertion, MemoryRecord
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
    """Brings the graph to what stands at the ids of a job; doing it again changes nothing."""
    keeping, ids = _named(tiers, job)
    keyspace = yield from opened()
    keys = keyspace.of(job.scope)
    found = yield from join(read(keyspace, keeping, job.scope, id) for id in ids)
    memories = [each.memory for each in found if each is not None]
    entities = yield from weaver.entities_of(memories)
    yield from _close_others(keys, memories)
    entries = [
        IndexEntry(memory.id, named, memory.text, memory.at) for memory, named in zip(memories, entities, strict=True)
    ]
    yield from stored.index(keys, entries)
    weaver.counters["indexed"] += sum(bool(entry.entities) for entry in entries)
    # one that was forgotten meanwhile must leave nothing behind
    yield from stored.forget(keys, (yield from gone(keys, tiers.searched, ids)))


def _close_others(keys: ScopeKeys, memories: Sequence[MemoryRecord]) -> Plan[None]:
    """Closes the open facts that say something else than what stands at their ids, as of when that began to."""
    known = yield from join(stored.facts(keys, memory.id) for memory in memories)
    for memory, facts in zip(memories, known, strict=True):
        if facts and facts[0].expired is None and facts[0].text != memory.text:
            began = memory.active_from if isinstance(memory, Assertion) else None
            yield from stored.close(keys, [memory.id], began or clock.now())


def _named(tiers: Tiers, job: Job) -> tuple[Keeping, list[str]]:
    """The tier and the ids that a job names."""
    try:
        return tiers[job.payload["tier"]].keeping, [check_id(id) for id in job.payload["ids"]]
    except (KeyError, TypeError, TieredMemoryError):
        raise FailJob("invalid_payload", again=False) from None
