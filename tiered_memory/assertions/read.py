"""Reading by id, by page and by number: what stands in one tier of one scope."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.fields import assertion, is_of, note
from tiered_memory.assertions.keeping import Keeping, addresses
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import Fields, pairs, text
from tiered_memory.engine.scripts import call
from tiered_memory.items import Assertion, MemoryRecord, Page
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
    (reply,) = yield from ask(call("read", keys.scopes, (clock.now_micros(), *keeping.address(keys), digest(id))))
    if not reply or not reply[1]:
        return None
    value, fields = reply[0], pairs(reply[1])
    if not is_of(fields, keys):
        return None
    number = value.split(b",")[0]
    version = value if keeping.notes else number + b":" + fields.get(b"revision", b"")
    return Standing(_memory(keeping, fields, number), version)


def page(
    keyspace: Keyspace, keeping: Keeping, scope: str | None, limit: int, cursor: str | None, *, history: bool = False
) -> Plan[Page[MemoryRecord]]:
    """What stands at up to `limit` ids, in the order in which they were first remembered; with what it superseded."""
    keys = keyspace.of(scope)
    arguments = (
        clock.now_micros(),
        *keeping.address(keys),
        cursor or "",
        limit,
        "oldest",
        "history" if history else "",
    )
    ((following, found),) = yield from ask(call("page", keys.scopes, arguments))
    rows = [(number, pairs(fields)) for number, fields in found]
    return Page(
        [_memory(keeping, fields, number) for number, fields in rows if is_of(fields, keys)], text(following) or None
    )


def _memory(keeping: Keeping, fields: Fields, number: bytes) -> MemoryRecord:
    return note(fields, keeping.name) if keeping.notes else assertion(fields, keeping.name, number)


def history(keyspace: Keyspace, keeping: Keeping, scope: str | None, id: str) -> Plan[list[Assertion]]:
    """All that was and is claimed at an id: what stands and stood there, then what waits, each newest first."""
    keys = keyspace.of(scope)
    (found,) = yield from ask(call("history", keys.scopes, (clock.now_micros(), *keeping.address(keys), digest(id))))
    rows = ((number, pairs(fields)) for number, fields in found)
    return [assertion(fields, keeping.name, number) for number, fields in rows if is_of(fields, keys)]


def count(keyspace: Keyspace, keepings: Sequence[Keeping], scope: str | None) -> Plan[int]:
    """How many memories are active in these tiers."""
    keys = keyspace.of(scope)
    (numbers,) = yield from ask(call("count", keys.scopes, (clock.now_micros(), *addresses(keepings, keys))))
    return sum(numbers)


def tallies(keyspace: Keyspace, keepings: Sequence[Keeping], scope: str | None) -> Plan[list[list[int]]]:
    """For each tier, how many memories are active, wait, are superseded, and were never surfaced."""
    keys = keyspace.of(scope)
    (numbers,) = yield from ask(call("tallies", keys.scopes, (clock.now_micros(), *addresses(keepings, keys))))
    return numbers  # type: ignore[no-any-return]


def keys_at(keys: ScopeKeys, tier: str, ids: Sequence[str]) -> Plan[list[str]]:
    """The keys of all records that stand at these ids of a tier, superseded ones included."""
    if not ids:
        return []
    (slots,) = yield from ask(("HMGET", keys.key("slots", tier), *map(digest, ids)), hurried=True)
    return [keys.record(number) for slot in slots if slot for number in text(slot).split(",")]
