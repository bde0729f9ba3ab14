"""Forgetting: one id, a tier of a scope, or all of it; and what there is to forget."""

from __future__ import annotations

from collections.abc import Sequence

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping, addresses
from tiered_memory.engine.keys import Keyspace, ScopeKeys, decode_scope
from tiered_memory.engine.reply import pairs, strings, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import StoreError
from tiered_memory.items import Assertion, Page
from tiered_memory.plan import Command, Plan, ask, join
from tiered_memory.scope import digest

_BESIDE = (
    ("files_clear", "files"), ("sessions_clear", "tree"), ("jobs_clear", "tree"), ("tree_clear", "tree"),
    ("graph_clear", "graph"),
)  # fmt: skip
"""The scripts that forget what a scope holds beside its memories, and what the tokens of these are made from."""

_STEP = 1000
"""How many memories one script forgets at the most, so that it never holds up the server for long."""


def forget(
    keyspace: Keyspace,
    keeping: Keeping,
    scope: str | None,
    id: str,
) -> Plan[int]:
    """Forgets what stands or waits at an id, with its history; how many memories that were."""
    ((forgotten, _),) = yield from ask(_forgetting(keyspace, [keeping], scope, digest(id)))
    return int(forgotten)


def forget_these(keyspace: Keyspace, keeping: Keeping, scope: str | None, these: Sequence[Assertion]) -> Plan[int]:
    """Forgets these active memories, with their history, and these claims, if they are still there; how many were."""
    total = 0
    for start in range(0, len(these), _STEP):
        chosen = these[start : start + _STEP]
        replies = yield from ask(
            *(_forgetting(keyspace, [keeping], scope, digest(each.id), each.number) for each in chosen)
        )
        total += sum(int(forgotten) for forgotten, _ in replies)
    return total


def clear(
    keyspace: Keyspace,
    keepings: Sequence[Keeping],
    scope: str | None,
    *,
    everything: bool = False,
) -> Plan[int]:
    """Forgets what these tiers hold in a scope, and `everything` else, step by step; how many memories that were."""
    total = 0
    more = True
    while more:
        ((forgotten, more),) = yield from ask(_forgetting(keyspace, keepings, scope, ""))
        total += forgotten
    if everything:
        yield from _clear_rest(keyspace.of(scope))
    return total


def erase(keyspace: Keyspace, everything: Sequence[Keeping], scope: str | None) -> Plan[int]:
    """Forgets all of a scope and looks at every key that it could own; how many memories that were."""
    forgotten = yield from clear(keyspace, everything, scope, everything=True)
    keys = keyspace.of(scope)
    own = [*keys.beside, *(key for keeping in everything for key in keys.all(keeping.name))]
    (left,) = yield from ask(("EXISTS", *own))
    (listed,) = yield from ask(("ZSCORE", keys.scopes, keys.member))
    if left or listed is not None:
        raise StoreError(
            f"{left} keys of the scope are left, since something writes to it; stop that, then erase again"
        )
    return forgotten


def clear_everywhere(
    keyspace: Keyspace,
    keepings: Sequence[Keeping],
    *,
    everything: bool = False,
) -> Plan[int]:
    """Forgets all that these tiers hold in every scope, as `clear` does; how many memories that were."""
    total = 0
    cursor: str | None = None
    while True:
        found = yield from scopes(keyspace, 100, cursor)
        clearing = [clear(keyspace, keepings, scope, everything=everything) for scope in found.items]
        total += sum((yield from join(clearing)))
        cursor = found.cursor
        if cursor is None:
            return total


def scopes(keyspace: Keyspace, limit: int, cursor: str | None) -> Plan[Page[str | None]]:
    """Up to `limit` scopes that hold something, in the order of their partitions and names."""
    number, _, last = (cursor or "0:").partition(":")
    partition = int(number)
    found: list[str] = []
    while partition < keyspace.partitions and len(found) < limit:
        after = f"({last}" if last else "-"
        wanted = limit - len(found)
        command = ("ZRANGE", keyspace.scopes(partition), after, "+", "BYLEX", "LIMIT", 0, wanted)
        (members,) = yield from ask(command)
        found += map(text, members)
        last = found[-1] if len(members) == wanted else ""
        partition += not last
    cursor = f"{partition}:{last}" if partition < keyspace.partitions else None
    return Page([decode_scope(member) for member in found], cursor)


def sweep(keyspace: Keyspace) -> Plan[None]:
    """Forgets everything that has expired."""
    left = list(range(keyspace.partitions))
    while left:
        now = clock.now_micros()
        replies = yield from ask(*(call("sweep", keyspace.scopes(partition), [now]) for partition in left))
        left = [partition for partition, more in zip(left, replies, strict=True) if more]


def sweep_scope(keys: ScopeKeys, keepings: Sequence[Keeping]) -> Plan[None]:
    """Forgets what has expired in these tiers of a scope."""
    more = True
    while more:
        now, where = clock.now_micros(), addresses(keepings, keys)
        (more,) = yield from ask(call("sweep_scope", keys.scopes, (now, keys.member, *where)))


def tallies(keyspace: Keyspace) -> Plan[tuple[int, dict[tuple[str, str], int]]]:
    """How many scopes hold something, and how many memories there are by tier and status."""
    partitions = range(keyspace.partitions)
    sizes = yield from ask(*(("ZCARD", keyspace.scopes(partition)) for partition in partitions))
    counted = yield from ask(*(("HGETALL", keyspace.counts(partition)) for partition in partitions))
    totals: dict[tuple[str, str], int] = {}
    for reply in counted:
        for name, number in strings(pairs(reply)).items():
            tier, _, status = name.rpartition(":")
            totals[tier, status] = totals.get((tier, status), 0) + int(number)
    return sum(sizes), totals


def _clear_rest(keys: ScopeKeys) -> Plan[None]:
    for script, token in _BESIDE:
        more = True
        while more:
            (more,) = yield from ask(call(script, keys.scopes, (keys.member, keys.token(token), _STEP)))


def _forgetting(
    keyspace: Keyspace, keepings: Sequence[Keeping], scope: str | None, each: str, number: int | str = ""
) -> Command:
    keys = keyspace.of(scope)
    now = clock.now_micros()
    return call("forget", keys.scopes, (now, keys.member, each, number, _STEP, *addresses(keepings, keys)))
