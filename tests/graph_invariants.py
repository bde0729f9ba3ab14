"""What must hold of a scope's graph as it lies in Redis: facts are the only truth, and follow their memories."""

from __future__ import annotations

from collections import Counter
from typing import Any

from redis import Redis

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.graph.facts import StoredFact
from tiered_memory.scope import digest


def check_graph(client: Redis, keys: ScopeKeys, records: dict[str, dict[str, str]]) -> int:
    """Checks a scope's graph beside the records of its memories, by number; how many facts it has."""
    kept = _hash(client, keys.key("facts", "graph"))
    facts = {name: StoredFact.read(name, record, b"") for name, record in kept.items()}
    _check_mentions(client, keys, facts)
    _check_own(client, keys, facts)
    for fact in facts.values():
        if fact.tier is not None:
            _check_stated(client, keys, fact, records[str(fact.number)])
    return len(facts)


def _check_mentions(client: Redis, keys: ScopeKeys, facts: dict[bytes, StoredFact]) -> None:
    """What is kept for each entity, and in the order of time, is what the facts say."""
    places = {name: (2**53 if fact.is_past else 0) - fact.recorded for name, fact in facts.items()}
    assert _scores(client, keys.key("recorded", "graph")) == places
    mentions: dict[str, dict[bytes, int]] = {}
    for name, fact in facts.items():
        for mention in fact.mentions:
            mentions.setdefault(str(mention.entity), {})[name] = places[name]
    counted = {name.decode(): int(count) for name, count in _hash(client, keys.key("entities", "graph")).items()}
    assert counted == Counter({entity: len(found) for entity, found in mentions.items()})
    kept = {key.decode() for key in client.scan_iter(match=_literally(keys.mentions("")) + "*")}
    assert kept == {keys.mentions(entity) for entity in mentions}
    for entity, found in mentions.items():
        assert _scores(client, keys.mentions(entity)) == found


def _check_own(client: Redis, keys: ScopeKeys, facts: dict[bytes, StoredFact]) -> None:
    """Facts that no record states have their sentence, and are in the chain of their id, the newest first."""
    own = {name: fact for name, fact in facts.items() if fact.tier is None}
    assert _hash(client, keys.key("sentences", "graph")).keys() == own.keys()
    chains: dict[bytes, list[int]] = {}
    for fact in own.values():
        chains.setdefault(fact.memory_id.encode(), []).append(fact.number)
    lists = {id: ",".join(map(str, sorted(numbers, reverse=True))).encode() for id, numbers in chains.items()}
    assert _hash(client, keys.key("chains", "graph")) == lists


def _check_stated(client: Redis, keys: ScopeKeys, fact: StoredFact, record: dict[str, str]) -> None:
    """A fact of a memory has its record's id and tier, is closed if that is superseded, and is known to the tier."""
    token = keys.token(str(fact.tier))
    assert (record["id"], record["slot"]) == (fact.memory_id, digest(fact.memory_id))
    assert token in (record.get("active", "").split(",")[0], record.get("superseded"))
    if record.get("superseded"):
        assert fact.expired is not None, "what was superseded is closed"
    woven = _hash(client, keys.key("woven", str(fact.tier)))
    assert woven[b""].decode() == keys.token("graph")
    assert woven[record["slot"].encode()].decode() == fact.memory_id


def _hash(client: Redis, key: str) -> dict[bytes, Any]:
    return dict(client.hgetall(key))


def _scores(client: Redis, key: str) -> dict[bytes, int]:
    return {name: int(score) for name, score in client.zrange(key, 0, -1, withscores=True)}


def _literally(pattern: str) -> str:
    return "".join(f"\\{each}" if each in "*?[]\\" else each for each in pattern)
