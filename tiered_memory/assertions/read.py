"""Reading by id, by page and by number: what stands in one tier of one scope."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.fields import record, is_of
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.items import MemoryRecord, Page
from tiered_memory.plan import Plan, ask
from tiered_memory.scope import digest


@frozen
class Standing:
    """A memory as it stands, and what tells this state of it from any other."""

    memory: MemoryRecord
    version: bytes


def read(keyspace: Keyspace, keeping: Keeping, scope: str | None, id: str) -> Plan[Standing | None]:
    """What stands at an id, or None."""
    keys = keyspace.of(scope)
    (reply,) = yield from ask(call("read", keys.scopes, (_now(), *keeping.address(keys), digest(id))))
    if not reply or not reply[1]:
        return None
    value, fields = reply[0], pairs(reply[1])
    if not is_of(fields, keys):
        return None
    version = value if keeping.notes else value.split(b",")[0] + b":" + fields.get(b"revision", b"")
    return Standing(record(fields, keeping.name), version)


def page(
    keyspace: Keyspace, keeping: Keeping, scope: str | None, limit: int, cursor: str | None
) -> Plan[Page[MemoryRecord]]:
    """Up to `limit` active memories, in the order in which their ids were first remembered."""
    keys = keyspace.of(scope)
    arguments = (_now(), *keeping.address(keys), cursor or "", limit, "oldest")
    ((following, found),) = yield from ask(call("page", keys.scopes, arguments))
    memories = [record(fields, keeping.name) for fields in map(pairs, found) if is_of(fields, keys)]
    return Page(memories, text(following) or None)


def count(keyspace: Keyspace, keepings: Sequence[Keeping], scope: str | None) -> Plan[int]:
    """How many memories are active in these tiers."""
    keys = keyspace.of(scope)
    addresses = [part for keeping in keepings for part in keeping.address(keys)]
    (numbers,) = yield from ask(call("count", keys.scopes, (_now(), *addresses)))
    return sum(numbers)


def _now() -> int:
    return clock.to_micros(clock.now())
