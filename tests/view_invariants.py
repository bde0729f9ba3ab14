"""What must hold of the memories that a scope's tree shows, as they lie in Redis."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from redis import Redis

from tiered_memory.config import MEMORY_TYPES
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.store.memory_uris import memory_type
from tiered_memory.store.uri import parse

STATUSES = ("active", "candidate", "superseded")

_DUMP = """
local packed, found = redis.call('HGETALL', KEYS[1]), {}
for at = 1, #packed, 2 do found[packed[at]] = cmsgpack.unpack(packed[at + 1]) end
return next(found) and cjson.encode(found) or '{}'
"""


def unpacked(client: Redis, key: str) -> dict[str, Any]:
    """A hash of packed values."""
    return dict(json.loads(client.eval(_DUMP, 1, key)))


Records = dict[str, dict[str, str]]


def check_views(client: Redis, keys: ScopeKeys, records: Records, documents: Records) -> int:
    """Checks that each memory whose id is the URI of one is shown as it stands; how many nodes the tree has.

    `records` are those of the scope's memories, by number, and `documents` those of its documents that are none.
    """
    nodes = unpacked(client, keys.key("nodes", "tree"))
    tallies: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for tier in set(MEMORY_TYPES.values()):
        _check_tier(client, keys, tier, records, nodes, tallies, shown)
    found = {_text(name): int(number) for name, number in client.hgetall(keys.key("memories", "tree")).items()}
    assert found == dict(+tallies)
    assert {uri for uri, node in nodes.items() if "view" in node} == shown.keys()
    assert {node["record"] for node in nodes.values() if "record" in node} == documents.keys()
    _check_marks(client, keys, records, shown)
    _check_tree(client, keys, nodes)
    return len(nodes)


def _check_tier(
    client: Redis,
    keys: ScopeKeys,
    tier: str,
    records: Records,
    nodes: dict[str, Any],
    tallies: Counter[str],
    shown: dict[str, str],
) -> None:
    token = keys.token(tier)
    views = unpacked(client, keys.key("views", tier))
    if views:
        assert views.pop("") == {"token": keys.token("tree"), "mark": keys.token("documents")}
        assert views, "nothing is kept where nothing is shown"
    numbers: dict[str, dict[str, list[str]]] = {}
    for number, record in records.items():
        status = next(name for name in STATUSES if record.get(name))
        if record[status].split(",")[0] == token and memory_type(record["id"]) in MEMORY_TYPES:
            numbers.setdefault(record["slot"], {}).setdefault(status, []).append(number)
    assert views.keys() == numbers.keys()
    for slot, held in numbers.items():
        (uri,) = {records[number]["id"] for each in held.values() for number in each}
        counted = {status: len(held.get(status, ())) for status in STATUSES}
        counted["surfaced"] = int(client.hexists(keys.key("surfaced", tier), slot))
        head = max(held.get("active") or held["candidate"], key=int)
        assert views[slot] == {"uri": uri, "since": views[slot]["since"], "shown": head, **counted}
        assert (nodes[uri]["view"], nodes[uri]["tier"]) == (f"{token}:{slot}", tier)
        tallies.update({f"{memory_type(uri)}:{name}": number for name, number in counted.items()})
        shown[uri] = head


def _check_marks(client: Redis, keys: ScopeKeys, records: Records, shown: dict[str, str]) -> None:
    """The records that are shown, and no others, carry the tree's mark while their documents are enabled."""
    mark = keys.token("documents")
    enabled = {_text(uri) for uri in client.zrange(keys.key("enabled", "tree"), 0, -1)}
    marked = {
        number
        for number, record in records.items()
        if any(record.get(status, "").endswith(f",{mark}") for status in STATUSES)
    }
    assert marked == {number for uri, number in shown.items() if uri in enabled}


def _check_tree(client: Redis, keys: ScopeKeys, nodes: dict[str, Any]) -> None:
    def members(kind: str) -> set[str]:
        return {_text(each) for each in client.zrange(keys.key(kind, "tree"), 0, -1)}

    assert members("documents") == {uri for uri, node in nodes.items() if "view" in node or "record" in node}
    assert members("directories") == nodes.keys() - members("documents")
    assert members("enabled") <= members("documents")
    for uri in nodes:
        assert all(above in nodes for above in parse(uri).lineage), f"nothing stands above {uri}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else value.decode()
