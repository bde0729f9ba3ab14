"""Forgetting: by id, by rule, by age, by a bound, and all of a scope down to the files."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from claims import claim, fact, life, outcomes, waiting
from embedders_for_tests import TableEmbedder
from invariants import check_invariants
from redis import Redis
from servers import redis_server, wait_until
from shorthand import DAY, NOON, TIERS, frozen, texts

from tiered_memory import ConfigError, InvalidInput, InvalidQuery, MemoryItem, UnknownTier, ranking, scope
from tiered_memory.assertions.keeping import RETENTION_HALF_LIFE

SECRET = "exactly what must not stay 4711"
SEARCHED = TIERS[1:]


def traces(client: Redis, *words: str) -> list[str]:
    """The keys of a whole server whose name or value has one of these words in it."""
    wanted = [word.encode() for word in words]
    return [
        key
        for key in map(bytes, client.scan_iter(count=1000))
        if any(word in key + _value(client, key) for word in wanted)
    ]


def _value(client: Redis, key: bytes) -> bytes:
    kind = client.type(key)
    if kind == b"hash":
        return b"\n".join(part for pair in client.hgetall(key).items() for part in pair)
    if kind == b"zset":
        return b"\n".join(client.zrange(key, 0, -1))
    if kind == b"set":
        return b"\n".join(client.smembers(key))
    return client.get(key) or b""


class TestOneId:
    def test_all_of_it(self, mem, client, namespace):
        """Forgetting an id takes its history and what waits there; the second time there is nothing."""
        mem.remember(
            [fact("a", id="y"), fact(SECRET), fact("near"), fact(SECRET + "!"), claim(SECRET + "?"), claim("far")]
        )
        mem.recall(SECRET)
        assert mem.forget("x", "semantic") == 3
        assert (life(mem), waiting(mem), mem.get("x", "semantic")) == ([], [], None)
        assert SECRET not in "".join(texts(mem.recall(SECRET, k=99, threshold=-1, include_superseded=True)))
        assert (traces(client, SECRET), mem.forget("x", "semantic")) == ([], 0)
        assert check_invariants(client, namespace) == {"active": 1}

    def test_of_another_scope(self, mem):
        """An id of another scope is none, and stays."""
        mem.remember(fact("near", scope="a"))
        assert mem.scoped("b").forget("x", "semantic") == 0
        assert life(mem.scoped("a")) == [("near", "active")]


class TestByRule:
    def given(self, mem):
        mem.remember([
            fact("near", id="a", source="bot", at=NOON, metadata={"topic": "x", "n": 1}),
            fact("far", id="b", source="user", at=NOON + DAY, metadata={"topic": "x"}),
            fact("edge", id="c", tier="episodic", source="bot", at=NOON + DAY),
            claim("orth", id="d", source="bot", at=NOON + DAY),
        ])  # fmt: skip

    def left(self, mem):
        return [each.id for each in mem.assertions(statuses=["active", "candidate"])]

    def test_source(self, mem):
        """By its source: the active and the waiting ones that match exactly, in every searched tier."""
        self.given(mem)
        assert mem.forget_where(source="bo") == 0
        assert mem.forget_where(source="bot") == 3
        assert self.left(mem) == ["b"]

    def test_age(self, mem):
        """By its age: what happened before a time."""
        self.given(mem)
        assert mem.forget_where(before=NOON) == 0
        assert mem.forget_where(before=NOON + timedelta(microseconds=1)) == 1
        assert self.left(mem) == ["b", "c", "d"]

    def test_metadata(self, mem):
        """By names and values of its metadata, all of which must be there."""
        self.given(mem)
        assert mem.forget_where(metadata={"topic": "x", "n": 2}) == 0
        assert mem.forget_where(metadata={"topic": "x", "n": 1}) == 1
        assert mem.forget_where(metadata={"topic": "x"}) == 1
        assert self.left(mem) == ["c", "d"]

    def test_tier_and_all_together(self, mem):
        """Several conditions must all hold."""
        self.given(mem)
        assert mem.forget_where(source="bot", tier="episodic") == 1
        assert mem.forget_where(source="bot", before=NOON + DAY, metadata={"n": 1}) == 1
        assert self.left(mem) == ["b", "d"]

    def test_history_goes_along(self, mem, client, namespace):
        """What is forgotten takes its history along."""
        mem.remember([fact("near", source="user"), fact("far", source="bot")])
        assert mem.forget_where(source="bot") == 1
        assert (life(mem), check_invariants(client, namespace)) == ([], {})

    def test_only_what_matches(self, mem, client, namespace):
        """A claim that matches goes without the active memory at its id, and the other way round."""
        mem.remember([fact("near", source="user"), claim("far", source="bot"), claim("edge", source="user")])
        mem.remember([fact("near", id="y", source="bot"), claim("far", id="y", source="user")])
        assert mem.forget_where(source="bot") == 2
        assert life(mem) == [("near", "active"), ("edge", "candidate")]
        assert life(mem, "y") == [("far", "candidate")]
        check_invariants(client, namespace)

    def test_dry_run(self, mem):
        """A dry run counts what would be forgotten, and forgets nothing."""
        self.given(mem)
        mem.remember(claim("far", id="a", source="bot"))
        assert mem.forget_where(source="bot", dry_run=True) == 4
        assert mem.forget_where(source="bot") == 4

    def test_only_its_scope(self, mem):
        """Other scopes are not touched."""
        self.given(mem)
        assert mem.scoped("a").forget_where(source="bot") == 0
        mem.remember(fact("near", scope="a", source="bot"))
        mem.forget_where(source="bot")
        assert mem.scoped("a").count() == 1

    def test_many(self, mem):
        """However many match, all of them go."""
        mem.remember([fact(f"text {n}", id=str(n), source="bot" if n % 2 else None) for n in range(2500)])
        assert mem.forget_where(source="bot") == 1250
        assert mem.count() == 1250

    def test_nothing_given(self, mem):
        """Without a condition, or with a time that has no zone, nothing is forgotten."""
        self.given(mem)
        for bad in ({}, {"tier": "semantic"}, {"before": datetime(2030, 1, 1)}):
            with pytest.raises(InvalidInput):
                mem.forget_where(**bad)
        with pytest.raises(UnknownTier):
            mem.forget_where(tier="working", source="bot")
        assert len(self.left(mem)) == 4


class TestLifetime:
    def test_default_of_a_tier(self, open_memory):
        """A tier's default lifetime is that of what names none."""
        mem = open_memory(semantic={"ttl": DAY})
        with frozen():
            mem.remember([fact("near"), fact("far", id="y", ttl=2 * DAY), fact("edge", tier="episodic")])
            found = [mem.get("x", "semantic"), mem.get("y", "semantic"), mem.get("x", "episodic")]
        assert [each.expires_at for each in found] == [NOON + DAY, NOON + 2 * DAY, None]

    def test_begins_anew(self, open_memory):
        """The default lifetime begins anew whenever the memory is remembered, and an update leaves it."""
        mem = open_memory(semantic={"ttl": DAY})
        with frozen() as clock:
            mem.remember(fact("near"))
            clock.tick(DAY / 2)
            mem.update("x", "semantic", importance=1)
            assert mem.get("x", "semantic").expires_at == NOON + DAY
            mem.remember(fact("near"))
            assert mem.get("x", "semantic").expires_at == NOON + 1.5 * DAY

    def test_expired(self, mem, client, namespace):
        """What has expired is nowhere, even where Redis still has it, and goes with its history at the next sweep."""
        with frozen() as clock:
            mem.remember([fact("near"), fact("exact", ttl=DAY), fact("orth", id="y")])
            clock.tick(DAY)
            assert (life(mem), mem.recorded("x", "semantic"), mem.count()) == ([], False, 1)
            assert mem.recall("q", include_superseded=True) == mem.recall("q", as_of=NOON + DAY) == []
            assert texts(mem.assertions(statuses=["active", "superseded"])) == ["orth"]
            mem.stats()
            assert check_invariants(client, namespace) == {"active": 1}

    def test_claims_are_swept(self, mem, client, namespace):
        """Claims that lapsed in the queue leave nothing behind after the next sweep."""
        with frozen() as clock:
            mem.remember([claim("near", id=str(n), ttl=DAY) for n in range(150)] + [fact("orth", id="y")])
            clock.tick(DAY)
            assert mem.stats().candidates["semantic"] == 0
            assert check_invariants(client, namespace) == {"active": 1}

    def test_many_are_swept(self, mem, client, namespace):
        """However much has expired, one look at the numbers counts none of it."""
        with frozen() as clock:
            mem.remember([fact(f"text {n}", id=str(n), ttl=DAY, scope=f"s{n % 3}") for n in range(450)])
            clock.tick(DAY)
            stats = mem.stats()
            assert (stats.memories["semantic"], stats.scopes, mem.scopes().items) == (0, 0, [])
            assert check_invariants(client, namespace) == {}

    def test_reclaimed_by_redis(self, mem, client, namespace):
        """Redis reclaims what expired by itself, history included, and nothing of it is seen meanwhile."""
        mem.remember([fact("near"), fact("exact", ttl=0.05), claim("far", id="y", ttl=0.05), fact("orth", id="z")])
        wait_until(lambda: len(client.keys(f"{{{namespace}:0}}:record:*")) == 1)
        assert (life(mem), life(mem, "y"), waiting(mem), mem.count()) == ([], [], [], 1)
        assert mem.memory_stats().by_status == {"active": 1, "candidate": 0, "superseded": 0}
        mem.stats()
        assert check_invariants(client, namespace) == {"active": 1}

    @pytest.mark.parametrize("ttl", [0, -1, "soon", float("nan")])
    def test_bad_default(self, open_memory, ttl):
        """A lifetime that is none is refused."""
        with pytest.raises(ConfigError, match="ttl"):
            open_memory(semantic={"ttl": ttl})


class TestBound:
    def bounded(self, open_memory, most=3, tier="semantic"):
        return open_memory(**{tier: {"max_items": most}})

    def kept(self, mem, tier="semantic"):
        return {each.id for each in mem.list(tier).items}

    @pytest.mark.parametrize("tier", SEARCHED)
    def test_the_least_important_goes(self, open_memory, tier):
        """Over its bound a tier forgets the least important, when all else is equal."""
        mem = self.bounded(open_memory, tier=tier)
        with frozen():
            mem.remember(
                [fact(id, id=id, tier=tier, importance=value) for id, value in (("a", 0.2), ("b", 0.1), ("c", 0.3))]
            )
            mem.remember(fact("d", id="d", tier=tier, importance=0))
        assert self.kept(mem, tier) == {"a", "c", "d"}

    def test_the_least_used_goes(self, open_memory):
        """Of equally important ones the least used goes."""
        mem = self.bounded(open_memory)
        with frozen():
            mem.remember([fact(id, id=id) for id in "abc"] + [fact(id, id=id) for id in "ac"])
            mem.remember(fact("d", id="d"))
        assert self.kept(mem) == {"a", "c", "d"}

    def test_the_longest_unused_goes(self, open_memory):
        """Of equally important and used ones the one goes that was shown or remembered the longest ago."""
        mem = self.bounded(open_memory)
        with frozen() as clock:
            for text in ("exact", "near", "orth"):
                mem.remember(fact(text, id=text))
                clock.tick(DAY)
            mem.recall("q", k=1)
            clock.tick(DAY)
            mem.remember(fact("neg", id="neg"))
        assert self.kept(mem) == {"exact", "orth", "neg"}

    def test_by_the_formula(self, open_memory):
        """What goes is what has the lowest retention, by the documented formula."""
        half_life = timedelta(microseconds=RETENTION_HALF_LIFE)
        given = [
            (f"{age}.{importance}.{uses}", age, importance, uses)
            for age in (0, 10, 30, 90) for importance in (0, 0.5, 1) for uses in (1, 3)
        ]  # fmt: skip
        worth = {id: ranking.retention(importance, uses, age * 86400, half_life) for id, age, importance, uses in given}
        mem, kept = self.bounded(open_memory, most=12), []
        with frozen(NOON - 90 * DAY) as clock:
            for age in (90, 30, 10, 0):
                clock.move_to(NOON - age * DAY)
                new = [each for each in given if each[1] == age]
                mem.remember(
                    [fact(id, id=id, importance=importance) for id, _, importance, uses in new for _ in range(uses)]
                )
                room = 12 - len(new)
                kept = [*sorted(kept, key=worth.__getitem__, reverse=True)[:room], *(id for id, *_ in new)]
                assert self.kept(mem) == set(kept)

    def test_never_what_is_new(self, open_memory):
        """What was just written stays while anything else can go, however little it is worth."""
        mem = self.bounded(open_memory)
        with frozen():
            mem.remember([fact(id, id=id, importance=1) for id in "abc"] * 5)
            mem.remember([fact("d", id="d", importance=0), fact("e", id="e", importance=0)])
        assert {"d", "e"} < self.kept(mem)

    def test_of_new_ones_the_best(self, open_memory):
        """Where a batch alone is over the bound, its best stay."""
        mem = self.bounded(open_memory)
        with frozen():
            mem.remember([fact(str(n), id=str(n), importance=n / 10) for n in range(10)])
        assert self.kept(mem) == {"7", "8", "9"}

    def test_each_tier_by_itself(self, open_memory):
        """What is new in one tier protects nothing in another."""
        mem = self.bounded(open_memory, most=2)
        with frozen():
            mem.remember([fact("a", id="a", importance=0), fact("b", id="b", importance=1)])
            mem.remember([fact("c", id="c"), fact("a", id="a", tier="episodic")])
        assert self.kept(mem) == {"b", "c"}

    def test_never_what_waits(self, open_memory):
        """What waits for review is neither counted nor evicted, at an id whose memory goes either."""
        mem = self.bounded(open_memory, most=1)
        with frozen() as clock:
            mem.remember([fact("near", id="a"), claim("exact", id="a"), *(claim("far", id=str(n)) for n in range(9))])
            clock.tick(DAY)
            mem.remember(fact("orth", id="b"))
        assert self.kept(mem) == {"b"}
        assert life(mem, "a") == [("exact", "candidate")]
        assert len(waiting(mem)) == 10

    def test_history_goes_along(self, open_memory, client, namespace):
        """What is evicted takes its history along; a superseding text at a full tier evicts nothing."""
        mem = self.bounded(open_memory, most=2)
        with frozen() as clock:
            mem.remember([fact("near"), fact("far"), fact("orth", id="y")])
            assert check_invariants(client, namespace) == {"active": 2, "superseded": 1}
            clock.tick(DAY)
            mem.remember([fact("neg", id="y"), fact("exact", id="z")])
        assert self.kept(mem) == {"y", "z"}
        assert check_invariants(client, namespace) == {"active": 2, "superseded": 1}

    def test_a_scope_each(self, open_memory):
        """Each scope has its own bound."""
        mem = self.bounded(open_memory, most=1)
        mem.remember([fact(text, id=text, scope=name) for text in ("near", "far") for name in ("a", "b")])
        assert [mem.scoped(name).count() for name in "ab"] == [1, 1]


class TestPruning:
    def chains(self, mem):
        """Histories of four at x, one text a day, and of two at y."""
        with frozen() as clock:
            for day, text in enumerate(("near", "far", "edge", "exact")):
                mem.remember(fact(text))
                if day < 2:
                    mem.remember(fact(text, id="y", tier="episodic"))
                clock.tick(DAY)

    def test_all_history(self, mem, client, namespace):
        """Pruning drops what is superseded, and leaves what is believed and what waits."""
        self.chains(mem)
        mem.remember(claim("orth"))
        assert mem.prune_history() == 4
        assert life(mem) == [("exact", "active"), ("orth", "candidate")]
        assert mem.prune_history() == 0
        assert check_invariants(client, namespace) == {"active": 2, "candidate": 1}

    def test_keeping_some(self, mem, client, namespace):
        """The newest of each history may be kept."""
        self.chains(mem)
        assert mem.prune_history(keep=2) == 1
        assert texts(mem.history("x", "semantic")) == ["exact", "edge", "far"]
        assert mem.memory_stats().by_status["superseded"] == 3
        check_invariants(client, namespace)

    def test_by_age(self, mem):
        """Only what was superseded before a time may go."""
        self.chains(mem)
        assert mem.prune_history(older_than=NOON + DAY) == 0
        assert mem.prune_history(older_than=NOON + DAY + timedelta(microseconds=1)) == 2
        assert texts(mem.history("x", "semantic")) == ["exact", "edge", "far"]

    def test_both(self, mem):
        """What goes is old and not among the newest."""
        self.chains(mem)
        assert mem.prune_history(keep=1, older_than=NOON + 9 * DAY, tier="semantic") == 2
        assert texts(mem.history("x", "semantic")) == ["exact", "edge"]
        assert len(mem.history("y", "episodic")) == 2

    def test_many(self, mem):
        """However many ids have a history, all are pruned."""
        mem.remember([fact(f"{turn} {n}", id=str(n)) for n in range(1100) for turn in range(2)])
        assert mem.prune_history() == 1100

    @pytest.mark.parametrize(
        "bad", [{"keep": -1}, {"keep": 1.5}, {"older_than": datetime(2026, 1, 1)}, {"tier": "working"}]
    )
    def test_bad_values(self, mem, bad):
        """A number, a time or a tier that is none is refused."""
        with pytest.raises(InvalidInput):
            mem.prune_history(**bad)


class TestErasing:
    def fill(self, mem, name):
        """Something of every kind that a scope may own, each with the secret in it."""
        handle = mem.scoped(name)
        for tier in TIERS:
            handle.remember(
                [fact(SECRET, tier=tier, metadata={SECRET: 1}), fact(SECRET + " again", tier=tier, ttl=DAY)]
            )
        for tier in SEARCHED:
            handle.remember([claim(SECRET + "?", tier=tier), claim(SECRET + "?", id=SECRET, tier=tier, ttl=DAY)])
            handle.remember([fact("exact", id="a", tier=tier), fact("exact", id="b", tier=tier, source=SECRET)])
        handle.recall("q", k=99, threshold=-1)
        handle.resolve(handle.conflicts()[0], "both")

    def test_leaves_nothing(self, mem, client, namespace):
        """Afterwards no key, no value and no row of the index has anything of the scope; others are as they were."""
        self.fill(mem, "kept")
        before = {
            key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*:*{scope.digest('kept', 'semantic')}")
        }
        alone = {bytes(key) for key in client.scan_iter(f"{{{namespace}:*")}
        self.fill(mem, "gone " + SECRET)
        assert mem.erase("gone " + SECRET) == 16
        assert {bytes(key) for key in client.scan_iter(f"{{{namespace}:*")} == alone
        assert before == {key: client.dump(key) for key in before}
        assert mem.scopes().items == ["kept"]
        tokens = [scope.digest("gone " + SECRET, tier) for tier in TIERS]
        assert traces(client, "gone", *tokens) == []
        for status in ("active", "candidate", "superseded"):
            query = f"@{status}:{{{'|'.join(tokens)}}}"
            found = client.execute_command("FT.SEARCH", f"{{{namespace}:0}}:index", query, NEVER_DECODE=True)
            assert (found[b"total_results"] if isinstance(found, dict) else found[0]) == 0
        assert mem.erase("kept") == 16
        assert (traces(client, SECRET), check_invariants(client, namespace)) == ([], {})

    def test_the_unscoped_pool(self, mem):
        """The unscoped pool is erased by its own name, and nothing else then."""
        mem.remember([fact("near"), fact("near", scope="a")])
        assert (mem.erase(None), mem.erase(None), mem.scoped("a").count()) == (1, 0, 1)

    def test_of_a_tier_that_is_off(self, mem, open_memory):
        """What lies in a tier that is switched off by now is erased too."""
        mem.remember([fact("near", tier=tier, scope="a") for tier in TIERS])
        assert open_memory(episodic=None, working=None).erase("a") == 4

    def test_bad_scope(self, mem):
        """An empty scope is refused, so that a missing name erases nothing."""
        mem.remember(fact("near"))
        with pytest.raises(InvalidInput, match="scope"):
            mem.erase("")
        assert mem.count() == 1

    @pytest.mark.parametrize("mode", ["blocking"])
    def test_append_only_file(self, open_memory, tmp_path, namespace):
        """Once Redis has rewritten its append-only file, nothing of the scope is in it, and the rest is there."""
        with redis_server(*_READABLE, "--dir", str(tmp_path)) as url, Redis.from_url(url) as client:
            mem = open_memory(url=url, embedder=TableEmbedder())
            self.fill(mem, "gone")
            mem.remember(MemoryItem("what may stay 4712", id="y"))
            assert SECRET.encode() in _files(tmp_path)
            mem.erase("gone")
            client.bgrewriteaof()
            wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
            wait_until(lambda: SECRET.encode() not in _files(tmp_path))
            assert b"what may stay 4712" in _files(tmp_path)
            assert not any(scope.digest("gone", tier).encode() in _files(tmp_path) for tier in TIERS)
            mem.close()


_READABLE = ("--appendonly", "yes", "--rdbcompression", "no")
"""An append-only file in which every text stands as it is, after a rewrite too."""


def _files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


class TestAfterwards:
    @pytest.mark.parametrize("tier", SEARCHED)
    def test_remembered_again(self, mem, tier):
        """What was forgotten may be remembered again, and begins a new life."""
        mem.remember([fact("near", tier=tier), fact("exact", tier=tier)])
        mem.forget("x", tier)
        assert outcomes(mem.remember(fact("exact", tier=tier))) == ["recorded"]
        (only,) = mem.history("x", tier)
        assert (only.uses, only.supersedes, only.surfaced) == (1, None, 0)

    def test_no_condition_is_no_invitation(self, mem):
        """The message for a rule without a condition names the call that forgets everything."""
        with pytest.raises(InvalidQuery, match="clear"):
            mem.forget_where()
