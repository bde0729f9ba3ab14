"""What must hold of a scope's tree as it lies in Redis, whatever was called in whatever order, by however many."""

from __future__ import annotations

from redis import Redis

from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import rows
from tiered_memory.store.items import content_hash
from tiered_memory.store.tree import under
from tiered_memory.store.uri import ROOT, parse

_DUMP = """
local nodes, found = redis.call('HGETALL', KEYS[1]), {}
for at = 1, #nodes, 2 do
  local node = cmsgpack.unpack(nodes[at + 1])
  found[#found + 1] = { nodes[at], node.record or '', node.off and 1 or 0, node.group or false }
end
return found
"""


def check_tree(client: Redis, namespace: str, scope: str | None = None) -> int:
    """Checks a scope's tree that is at rest, and its jobs' part in what the scope holds; how many nodes there are."""
    keyspace = Keyspace(namespace, 1, "vector")
    keys = keyspace.of(scope)
    prefix = keys.scopes.removesuffix("scopes")

    def members(kind: str) -> set[str]:
        return {each.decode() for each in client.zrange(keys.key(kind, "tree"), 0, -1)}

    found = client.eval(_DUMP, 1, keys.key("nodes", "tree"))
    nodes = {uri.decode(): (record.decode(), off, group) for uri, record, off, group in found}
    documents = {uri: record for uri, (record, _, _) in nodes.items() if record}
    assert members("documents") == documents.keys()
    assert members("directories") == nodes.keys() - documents.keys()
    assert members("marked") == {uri for uri, (_, off, group) in nodes.items() if off or group is not None}
    for uri in nodes:
        assert all(above in nodes for above in parse(uri).lineage), f"nothing stands above {uri}"
    switched_off = {uri for uri, (_, off, _) in nodes.items() if off}
    enabled = {uri for uri in documents if switched_off.isdisjoint(parse(uri).lineage)}
    assert members("enabled") == enabled
    for uri, number in documents.items():
        _check_record(client.hgetall(f"{prefix}record:{number}"), uri, scope, uri in enabled, keys.token("documents"))
    query = (f"@active:{{{keys.token('documents')}}}", "RETURN", 1, "uri", "LIMIT", 0, 10_000, "DIALECT", 2)
    reply = client.execute_command("FT.SEARCH", keyspace.index(0), *query, NEVER_DECODE=True)
    assert {fields[b"uri"].decode() for _, fields in rows(reply)} == enabled
    assert not nodes or ROOT in nodes
    statuses = ("pending", "running", "done", "failed")
    jobs = sum(client.zcard(f"{keys.key('jobs', 'tree')}:{status}") for status in statuses)
    assert int(client.hget(f"{prefix}holding", keys.member) or 0) == len(nodes) + jobs
    return len(nodes)


def _check_record(fields: dict[bytes, bytes], uri: str, scope: str | None, enabled: bool, mark: str) -> None:
    record = {name.decode(): value.decode(errors="replace") for name, value in fields.items()}
    assert (record["uri"], record.get("scope"), record["under"]) == (uri, scope, under(parse(uri)))
    assert record.get("active") == (mark if enabled else None)
    assert record["content_hash"] == content_hash(record["text"])
    for layer in ("abstract", "overview"):
        assert len({layer, f"{layer}_of", f"{layer}_by"} & record.keys()) in (0, 3)
