"""What must hold of a namespace as it lies in Redis, whatever was called in whatever order, by however many."""

from __future__ import annotations

from collections import Counter
from typing import Any

from attrs import define, evolve, field
from graph_invariants import check_graph
from redis import Redis
from view_invariants import check_views

from tiered_memory.engine.keys import GRAPH_KINDS, KINDS, STORE_KINDS, Keyspace, decode_scope
from tiered_memory.engine.search import Parameters
from tiered_memory.scope import digest

TIERS = ("working", "semantic", "episodic", "procedural")
STATUSES = ("active", "candidate", "superseded")
_SHARED = ("scopes", "sequence", "counts", "holding", "due", "meta")
_BESIDE = (*_SHARED, *STORE_KINDS, *GRAPH_KINDS, "mentions", "session", "paths", "file", "jobs", "job")


@define
class _Tier:
    """One tier of one scope: its token, and what its keys hold."""

    name: str
    token: str
    keys: dict[str, Any] = field(factory=dict)

    def hash(self, kind: str) -> dict[str, str]:
        """A hash, empty where there is none."""
        return self.keys.get(kind, {})

    def scores(self, kind: str) -> dict[str, float]:
        """A sorted set as a mapping, empty where there is none."""
        return dict(self.keys.get(kind, []))

    @property
    def slots(self) -> dict[str, list[str]]:
        """The numbers at each id."""
        return {slot: numbers.split(",") for slot, numbers in self.hash("slots").items()}

    @property
    def claims(self) -> dict[str, list[str]]:
        """The numbers of what waits at each id."""
        return {slot: numbers.split(",") for slot, numbers in self.hash("claims").items()}


def check_invariants(client: Redis, namespace: str) -> Counter[str]:
    """Checks every partition of a namespace at rest; answers how many records of each status it holds."""
    text = Redis(connection_pool=client.connection_pool)
    total: Counter[str] = Counter()
    keys = {_text(key) for key in text.scan_iter(f"{{{namespace}:*", count=1000)}
    for partition in {key[: key.index("}") + 2] for key in keys}:
        total += _Partition(text, partition, {key for key in keys if key.startswith(partition)}).check()
    return total


class _Partition:
    def __init__(self, client: Redis, prefix: str, keys: set[str]) -> None:
        self.client, self.prefix = client, prefix
        self.namespace, self.partition = prefix[1:-2].rsplit(":", 1)
        self.records: dict[str, dict[str, str]] = {}
        self.documents: dict[str, dict[str, str]] = {}
        self.shared: dict[str, Any] = {}
        self.tiers: dict[str, _Tier] = {}
        by_kind = {key: key.removeprefix(prefix).split(":") for key in keys}
        for key, (kind, *_) in by_kind.items():
            if kind in _SHARED:
                self.shared[kind] = self.read(key)
        self.scopes = [member for member, _ in self.shared.get("scopes", [])]
        for scope in map(decode_scope, self.scopes):
            for name in TIERS:
                self.tiers[digest(scope, name)] = _Tier(name, digest(scope, name))
        for key, (kind, *rest) in by_kind.items():
            if kind == "record":
                record = self.read(key)
                (self.records if "id" in record else self.documents)[rest[0]] = record
            elif kind not in _BESIDE and not kind.startswith("job_"):
                assert kind in KINDS, key
                assert rest[0] in self.tiers, f"{key} belongs to no scope that is listed"
                self.tiers[rest[0]].keys[kind] = self.read(key)

    def read(self, key: str) -> Any:
        """A key's value as texts; what isn't text is passed over."""
        kind = _text(self.client.type(key))
        if kind == "hash":
            return {_text(name): _text(value) for name, value in self.client.hgetall(key).items()}
        if kind == "zset":
            return [(_text(member), score) for member, score in self.client.zrange(key, 0, -1, withscores=True)]
        return _text(self.client.get(key)) if kind == "string" else {_text(each) for each in self.client.smembers(key)}

    def check(self) -> Counter[str]:
        """Checks everything; how many records there are of each status."""
        searched = [tier for tier in self.tiers.values() if tier.name != "working"]
        placed = [number for tier in searched for at in (*tier.slots.values(), *tier.claims.values()) for number in at]
        assert sorted(placed) == sorted(self.records), "every record lies in exactly one place"
        assert max(map(int, placed), default=0) <= int(self.shared.get("sequence", 0))
        for tier in searched:
            self.check_slots(tier)
            self.check_claims(tier)
            self.check_index(tier)
        for tier in self.tiers.values():
            self.check_companions(tier)
            self.check_expiry(tier)
        self.check_scopes()
        self.check_counts()
        return Counter(self.status(number) for number in self.records)

    def of(self, scope: str | None, records: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
        """Those of some records that are of one scope, by number."""
        return {number: record for number, record in records.items() if record.get("scope") == scope}

    def status(self, number: str) -> str:
        """The one status that a record has."""
        (status,) = (name for name in STATUSES if self.records[number].get(name))
        return status

    def check_slots(self, tier: _Tier) -> None:
        """At most one active record a slot, at its head; behind it an unbroken chain without a circle."""
        for slot, (head, *older) in tier.slots.items():
            for number in (head, *older):
                record = self.records[number]
                assert (record["slot"], digest(record["id"])) == (slot, slot)
                assert _tier_token(record[self.status(number)]) == tier.token
            assert self.status(head) == "active"
            assert {self.status(number) for number in older} <= {"superseded"}
            assert not self.records[head].get("superseded_by")
            for newer, number in zip((head, *older), older, strict=False):
                assert self.records[newer]["supersedes"] == number
                assert self.records[number]["superseded_by"] == newer
                assert self.records[number]["superseded_at"] == self.records[newer]["active_from"]
            last = self.records[(head, *older)[-1]].get("supersedes")
            assert not last or last not in self.records, "a chain ends where nothing is left"

    def check_claims(self, tier: _Tier) -> None:
        """What waits at ids and what the queue holds are the same, the newest first at each id."""
        for slot, numbers in tier.claims.items():
            assert numbers == sorted(numbers, key=int, reverse=True)
            for number in numbers:
                claim = self.records[number]
                assert (claim["slot"], _tier_token(claim["candidate"])) == (slot, tier.token)
                assert self.status(number) == "candidate"
        queue = {f"{number}:{slot}": float(number) for slot, numbers in tier.claims.items() for number in numbers}
        assert tier.scores("waiting") == queue

    def check_index(self, tier: _Tier) -> None:
        """The index finds exactly the records that have the tier's token, by each status."""
        for status in STATUSES:
            found = set(_search(self.client, f"{self.prefix}index", status, tier.token))
            held = {
                number for number, record in self.records.items() if _tier_token(record.get(status, "")) == tier.token
            }
            assert found == {f"{self.prefix}record:{number}" for number in held}, status

    def check_companions(self, tier: _Tier) -> None:
        """Order, retention and marks are kept for what stands, and for nothing else."""
        standing = set(tier.hash("slots"))
        assert set(tier.scores("order")) == standing
        assert set(tier.scores("retention")) == (set() if tier.name == "working" else standing)
        assert set(tier.hash("surfaced")) == set(tier.hash("surfaced_at"))
        assert set(tier.hash("surfaced")) <= standing
        assert set(tier.hash("woven")) - {""} <= standing

    def check_expiry(self, tier: _Tier) -> None:
        """What expires is known by its time, all records of an id alike, and Redis will reclaim it."""
        expiry, lapsing = tier.scores("expiry"), tier.scores("lapsing")
        assert set(expiry) - {""} <= set(tier.hash("slots"))
        assert set(lapsing) <= set(tier.scores("waiting"))
        times = {
            n: expiry.get(slot, 0.0) for slot, numbers in tier.slots.items() for n in numbers if tier.name != "working"
        }
        times |= {member.split(":")[0]: lapsing.get(member, 0.0) for member in tier.scores("waiting")}
        for number, time in times.items():
            assert float(self.records[number].get("expires_at", 0)) == time
            assert (self.client.pttl(f"{self.prefix}record:{number}") > 0) == (time > 0)
        first = min([*expiry.values(), *lapsing.values()], default=None)
        due = [score for member, score in self.shared.get("due", []) if member.startswith(tier.token)]
        assert first is None or due[0] <= first

    def check_scopes(self) -> None:
        """Every scope that is listed holds something."""
        for member in self.scopes:
            tiers = [self.tiers[digest(decode_scope(member), name)] for name in TIERS]
            held = sum(len(tier.hash("slots")) + len(tier.scores("waiting")) for tier in tiers)
            keys = Keyspace(self.namespace, 1, "vector").of(decode_scope(member))
            keys = evolve(keys, scopes=f"{self.prefix}scopes")
            own = [self.of(decode_scope(member), records) for records in (self.records, self.documents)]
            held += check_views(self.client, keys, *own)
            held += check_graph(self.client, keys, own[0])
            lists = (keys.files, keys.key("sessions", "tree"), *keys.jobs[:4])
            held += sum(self.client.zcard(name) for name in lists)
            assert int(self.shared["holding"][member]) == held > 0, "a listed scope holds nothing"
        assert set(self.shared.get("holding", ())) == set(self.scopes)

    def check_counts(self) -> None:
        """The counts of the partition, and those of each scope, are what there is."""
        counted: Counter[str] = Counter()
        for tier in self.tiers.values():
            superseded = 0 if tier.name == "working" else sum(len(numbers) - 1 for numbers in tier.slots.values())
            held = {
                "active": len(tier.hash("slots")),
                "candidate": len(tier.scores("waiting")),
                "superseded": superseded,
            }
            tally = {name: int(number) for name, number in tier.hash("tally").items() if name in STATUSES}
            assert tally == {name: number for name, number in held.items() if number}
            counted.update({f"{tier.name}:{status}": number for status, number in held.items()})
        counts = {name: int(number) for name, number in self.shared.get("counts", {}).items()}
        assert {name: counts.get(name, 0) for name in counted} == counted


def _tier_token(value: str) -> str:
    """What marks a record as one of a tier; one that the tree shows has another mark beside it."""
    return value.split(",", 1)[0]


def _search(client: Redis, index: str, status: str, token: str) -> list[str]:
    parameters: Parameters = {"token": token}
    given = [part for pair in parameters.items() for part in pair]
    query = (f"@{status}:{{$token}}", "PARAMS", len(given), *given, "NOCONTENT", "LIMIT", 0, 10_000, "DIALECT", 2)
    reply = client.execute_command("FT.SEARCH", index, *query, NEVER_DECODE=True)
    if isinstance(reply, dict):
        return [_text(row[b"id"]) for row in reply[b"results"]]
    return [_text(key) for key in reply[1:]]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else bytes(value).decode(errors="replace")
