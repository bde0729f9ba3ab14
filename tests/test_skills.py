"""Skills: replaced as a whole, and listed."""

from __future__ import annotations

import numpy as np
import pytest
from embedders_for_tests import TableEmbedder
from processes import run_together
from redis import Redis
from servers import redis_server
from snapshots import snapshot
from stores import commands_of, uris_of
from tree_invariants import check_tree

from tiered_memory import MemoryItem, memory
from tiered_memory.engine.keys import TREE_KINDS, Keyspace, vector_field
from tiered_memory.errors import (
    BadPath,
    CorruptRecord,
    InvalidInput,
    InvalidLimit,
    InvalidQuery,
    InvalidSkill,
    InvalidURI,
    IsRoot,
    StoreUnavailable,
    TooLarge,
)
from tiered_memory.store import Replaced, Skill
from tiered_memory.store.commits import JOBS
from tiered_memory.store.items import MAX_CONTENT_BYTES

S = "viking://user/me/skills/tea"
FILES = {"SKILL.md": "# Tea", "scripts/steep.py": "print('80 °C')"}


class TestReplace:
    def test_new(self, store):
        """Files are stored below a URI with the directories above them, and their work is enqueued."""
        assert store.skills.replace(S, FILES) == Replaced(S, False, 2)
        assert store.documents.get(f"{S}/scripts/steep.py").content == "print('80 °C')"
        assert (store.documents.get(S).kind, store.documents.children(S)) == ("dir", ["SKILL.md", "scripts"])
        assert {kind: store.jobs.count_kind(kind) for kind in JOBS} == dict.fromkeys(JOBS, 2)
        assert store.jobs.count(f"{S}/SKILL.md", ["pending"]) == 3

    def test_stale(self, store):
        """A file that the new ones don't mention is gone, and so are its jobs and its vector."""
        store.skills.replace(S, FILES)
        job = store.jobs.claim(["embed"])
        vector = np.ones(3, "<f4").tobytes()
        store.vectors.store(job.id, job.payload["uri"], vector)
        assert store.skills.replace(S, {"README.md": "only"}) == Replaced(S, True, 1)
        assert uris_of(store, S) == [f"{S}/README.md"]
        assert store.documents.children(S) == ["README.md"]
        assert store.vectors.search(vector) == []
        assert store.jobs.count(S, ["pending", "running", "done", "failed"]) == 3

    def test_memories(self, store, mem):
        """Memories that stood there are forgotten."""
        uri = "viking://user/memories/entities/tea"
        mem.remember(MemoryItem("near", "semantic", id=f"{uri}/leaf"))
        store.skills.replace(uri, FILES)
        assert uris_of(store, uri) == [f"{uri}/SKILL.md", f"{uri}/scripts/steep.py"]
        assert mem.count("semantic") == 0

    def test_in_flight(self, store):
        """What a worker makes of an old file is discarded."""
        store.skills.replace(S, FILES)
        job = store.jobs.claim(["embed"])
        store.skills.replace(S, FILES)
        assert store.vectors.store(job.id, job.payload["uri"], np.ones(3, "<f4").tobytes()).outcome == "discarded"
        assert store.jobs.stats() == {"pending": 6, "running": 0, "done": 0, "failed": 0}

    def test_marks(self, store):
        """A skill that was switched off stays so, and keeps its group and the time of its making."""
        store.skills.replace(S, FILES)
        store.tags.set_enabled(S, False)
        store.tags.set_group(S, "team")
        before = store.documents.get(S)
        store.skills.replace(S, {"new/SKILL.md": "# New tea"})
        after = store.documents.get(f"{S}/new/SKILL.md")
        assert (after.enabled, after.group) == (False, "team")
        assert store.documents.get(S).created_at == before.created_at
        assert store.search.keyword("tea") == []
        store.tags.set_enabled(S, True)
        assert [hit.uri for hit in store.search.keyword("tea")] == [f"{S}/new/SKILL.md"]

    def test_neighbours(self, store):
        """What stands beside, and begins alike, stays."""
        store.documents.put(f"{S}-old/SKILL.md", "x", jobs=[("embed", {})])
        store.skills.replace(S, FILES)
        store.skills.replace(S, FILES)
        assert store.documents.get(f"{S}-old/SKILL.md").content == "x"
        assert store.jobs.count(f"{S}-old", ["pending"]) == 1

    def test_other_kinds(self, store):
        """A document gives way to a directory, and the other way round, within the skill and at its URI."""
        store.documents.put(S, "a document")
        assert store.skills.replace(S, {"a": "file"}).replaced
        assert store.skills.replace(S, {"a/b": "file"}).replaced
        assert store.documents.get(f"{S}/a").kind == "dir"
        assert store.skills.replace(S, {"a": "file"}).replaced
        assert store.documents.get(f"{S}/a").kind == "doc"
        assert uris_of(store) == [f"{S}/a"]

    def test_as_put(self, store, client, namespace):
        """A file is as one that `documents.put` wrote."""
        store.skills.replace(S, FILES)
        store.documents.put("viking://x/SKILL.md", FILES["SKILL.md"], jobs=[(kind, {}) for kind in JOBS])
        assert check_tree(client, namespace) == 10
        ours, other = store.documents.get_many([f"{S}/SKILL.md", "viking://x/SKILL.md"])
        assert (ours.content_hash, ours.enabled, ours.group) == (other.content_hash, other.enabled, other.group)
        records = [client.hkeys(f"{{{namespace}:0}}:record:{number}") for number in (1, 3)]
        assert sorted(records[0]) == sorted(records[1])
        jobs = [store.jobs.claim(["summarize_overview"]) for _ in range(3)]
        assert {frozenset(job.payload) for job in jobs} == {frozenset({"uri", "content_hash"})}

    @pytest.mark.parametrize(
        ("files", "error"),
        [
            ({}, InvalidSkill),
            ({"a": "x", "a/b": "x"}, InvalidSkill),
            ({"a": b"x"}, InvalidInput),
            ({"a": "\ud800"}, InvalidInput),
            ({1: "x"}, BadPath),
            ([("a", "x")], InvalidInput),
            ({"a": "x" * (MAX_CONTENT_BYTES + 1)}, TooLarge),
            ({f"{number}": "x" for number in range(1001)}, InvalidLimit),
        ],
        ids=["none", "clash", "bytes", "surrogate", "number", "list", "long", "many"],
    )
    def test_refused(self, store, client, namespace, files, error):
        """What can't be a skill is refused, and nothing is changed."""
        store.skills.replace(S, FILES)
        before = snapshot(client, namespace)
        with pytest.raises(error):
            store.skills.replace(S, files)
        assert snapshot(client, namespace) == before

    @pytest.mark.parametrize(
        "path",
        ["", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "./a", "a\\b", "a\nb", "a\0b", "x" * 256, "\udcff"],
    )
    def test_unsafe(self, store, path):
        """A path must lead to one place below the skill."""
        with pytest.raises(BadPath):
            store.skills.replace(S, {"SKILL.md": "x", path: "x"})
        assert uris_of(store) == []

    def test_where(self, store):
        """A skill stands below the root, at a URI."""
        with pytest.raises(IsRoot):
            store.skills.replace("viking://", FILES)
        with pytest.raises(InvalidURI):
            store.skills.replace("user/me", FILES)

    def test_one_command(self, store, client):
        """Replacing is one command."""
        store.skills.replace(S, FILES)
        assert commands_of(client, lambda: store.skills.replace(S, FILES)) == ["EVALSHA"]

    def test_processes(self, redis_url, client, namespace):
        """Of several processes that replace one skill at once the last one's files stay, all of them and no others."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
            run_together("replace_one_skill", 4, redis_url, namespace)
            store = mem.store
            found = uris_of(store)
            version = store.documents.get(f"{S}/SKILL.md").content
            number, each = map(int, version.split(":"))
            expected = [f"{S}/{number}/{place}.md" for place in range(1 + (number + each) % 4)]
            assert found == [*expected, f"{S}/SKILL.md"]
            assert {node.content for node in store.documents.get_many(found)} == {version}
            assert store.jobs.stats()["pending"] == 3 * len(found)
            check_tree(client, namespace)


class TestFaults:
    @pytest.fixture
    def mem(self, redis_url, namespace):
        """A memory, for tests that do the same in one mode or the other."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
            yield mem

    def filled(self, mem):
        """A store that holds a skill with all that a file may have; answers it and the id of a job that runs."""
        store = mem.store
        store.skills.replace(S, FILES | {"old.md": "old"})
        store.tags.set_enabled(f"{S}/old.md", False)
        store.tags.set_group(S, "g")
        store.sessions.restore("s", [("user", "hi")])
        store.sessions.commit("s", f"{S}/committed")
        return store, store.jobs.claim(["embed"])

    def keys(self, client, namespace, scope):
        """The keys that replacing a skill of a scope may touch, by what stays the same from scope to scope."""
        own = Keyspace(namespace, 1, "vector").of(scope)
        prefix, token = own.scopes.removesuffix("scopes"), own.token("tree")
        found = {}
        for key in client.scan_iter(f"{prefix}*", count=1000):
            name = key.decode().removeprefix(prefix)
            if token in name:
                found[name.replace(token, "TOKEN")] = key
            elif name.startswith(("record:", "job:")):
                if client.type(key) == b"hash" and client.hget(key, "scope") in (own.raw, own.member.encode()):
                    found[f"{name.split(':')[0]} {client.hget(key, 'uri')} {client.hget(key, 'kind')}"] = key
            elif ":" not in name or name.startswith(("job_times", "job_ready", "job_later")):
                found[name] = key
        return found

    def test_planted(self, mem, client, namespace):
        """Where a key has another type than it should, replacing is refused as a whole, or doesn't need that key."""
        self.filled(mem.scoped("first"))
        names, refused = sorted(self.keys(client, namespace, "first")), set()
        assert len(names) > 40
        for scope, name in enumerate(names):
            store, _ = self.filled(mem.scoped(f"scope-{scope}"))
            key = self.keys(client, namespace, f"scope-{scope}")[name]
            kind, value = client.type(key), client.dump(key)
            client.delete(key)
            client.rpush(key, "junk") if kind == b"string" else client.set(key, "junk")
            before = snapshot(client, namespace)
            try:
                store.skills.replace(S, FILES)
            except CorruptRecord:
                assert snapshot(client, namespace) == before, f"{name} left it half done"
                refused.add(name)
            client.delete(key)
            client.restore(key, 0, value)
        needed = {f"{kind}:TOKEN" for kind in TREE_KINDS} | {"scopes", "holding", "sequence", "commits:TOKEN"}
        needed |= {
            "job_sequence",
            "job_turns",
            "job_kinds",
            "job_times:pending",
            "jobs:TOKEN:running",
            "job_ready:embed",
        }
        assert needed <= refused
        assert {name for name in refused if name.startswith("job b")}

    @pytest.mark.parametrize("place", ["record", "job"])
    def test_taken(self, mem, client, namespace, place):
        """Where a foreign value has the name of the next record or job, nothing is changed."""
        store, _ = self.filled(mem)
        prefix = f"{{{namespace}:0}}:"
        last = int(client.get(f"{prefix}{'sequence' if place == 'record' else 'job_sequence'}"))
        client.set(f"{prefix}{place}:{last + 2}", "junk")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            store.skills.replace(S, FILES)
        assert snapshot(client, namespace) == before

    @pytest.mark.parametrize("uri", [S, f"{S}/old.md", "viking://user/me", "viking://"])
    def test_junk_for_a_node(self, mem, client, namespace, uri):
        """Where a node there or above isn't as we wrote it, nothing is changed."""
        store, _ = self.filled(mem)
        client.hset(Keyspace(namespace, 1, "vector").of(None).key("nodes", "tree"), uri, b"\xc1")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            store.skills.replace(S, FILES)
        assert snapshot(client, namespace) == before

    def test_out_of_memory(self, namespace):
        """Without memory left nothing is changed: the old files and their jobs stay, and an import says what failed."""
        with (
            redis_server() as url,
            Redis.from_url(url) as client,
            memory(url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem,
        ):
            store, _ = self.filled(mem)
            client.config_set("maxmemory", 1)
            before = snapshot(client, namespace)
            with pytest.raises(StoreUnavailable, match="out of memory"):
                store.skills.replace(S, {"SKILL.md": "new"})
            assert snapshot(client, namespace) == before
            assert store.documents.get(f"{S}/old.md").content == "old"


class TestList:
    @pytest.fixture
    def filled(self, store):
        """A store with skills of two owners, and things that are none."""
        for owner, name in (("a", "tea"), ("a", "tea-old"), ("b", "coffee"), ("b", "tea")):
            store.skills.replace(f"viking://user/{owner}/skills/{name}", FILES)
        store.documents.put("viking://user/a/skills/tea/deep/er/file.md", "x")
        store.documents.put("viking://user/a/skills/document", "x")
        store.documents.put("viking://user/a/notes/skills/x/SKILL.md", "x")
        store.documents.put("viking://user/a-b", "x")
        store.documents.put("viking://users/a/skills/x/SKILL.md", "x")
        store.documents.put("viking://resources/skills/x/SKILL.md", "x")
        return store

    def test_roots(self, filled):
        """Skills are exactly the directories of that form, in the order of their URIs, with what is known of them."""
        page = filled.skills.list()
        assert [(skill.owner, skill.name, skill.files) for skill in page.items] == [
            ("a", "tea", 3),
            ("a", "tea-old", 2),
            ("b", "coffee", 2),
            ("b", "tea", 2),
        ]
        assert (page.total, page.cursor) == (4, None)
        assert page.items[3] == Skill("viking://user/b/skills/tea", 2, enabled=True, group="")

    def test_filter(self, filled):
        """By owner, group or owner, substring, and whether they are in use; the total counts what the filter leaves."""
        filled.tags.set_group("viking://user/b/skills/coffee", "a")
        filled.tags.set_enabled("viking://user/a/skills/tea", False)

        def names(**wanted):
            page = filled.skills.list(filter=wanted)
            assert page.total == len(page.items)
            return [f"{skill.owner}/{skill.name}" for skill in page.items]

        assert names() == ["a/tea-old", "b/coffee", "b/tea"]
        assert names(include_disabled=True) == ["a/tea", "a/tea-old", "b/coffee", "b/tea"]
        assert names(owner="b") == ["b/coffee", "b/tea"]
        assert names(group="a") == ["a/tea-old", "b/coffee"]
        assert names(substring="TEA") == ["a/tea-old", "b/tea"]
        assert names(substring="b/skills/T", owner="b") == ["b/tea"]
        with pytest.raises(InvalidQuery, match="owner"):
            filled.skills.list(filter={"name": "tea"})
        with pytest.raises(InvalidQuery):
            filled.skills.list(filter={"owner": 1})

    def test_pages(self, filled):
        """Pages follow each other by offset, or by cursor whatever was written meanwhile."""
        first = filled.skills.list(2)
        last = [("b", "coffee"), ("b", "tea")]
        assert [(skill.owner, skill.name) for skill in filled.skills.list(2, 2).items] == last
        assert filled.skills.list(2, 2).cursor is None
        filled.skills.replace("viking://user/a/skills/aaa", FILES)
        second = filled.skills.list(2, cursor=first.cursor)
        assert [(skill.owner, skill.name) for skill in second.items] == last
        assert (filled.skills.list(2, 99).items, filled.skills.list(2, 99).total) == ([], 5)
        for limit in (0, 1001):
            with pytest.raises(InvalidLimit):
                filled.skills.list(limit)

    def test_none(self, store):
        """Without skills the page is empty."""
        assert store.skills.list().items == []
        store.documents.put("viking://user/a", "x")
        assert store.skills.list().total == 0

    def test_many(self, store, client, namespace):
        """However many there are, and however deep they go, each is listed once."""
        directories = [f"viking://user/{owner:02}/skills/{name:03}" for owner in range(5) for name in range(300)]
        below = [f"{uri}/{part}" for uri in directories for part in ("a", "a/b", "c")]
        key = Keyspace(namespace, 1, vector_field("table")).of(None).key("directories", "tree")
        client.zadd(key, dict.fromkeys([*directories, *below, "viking://user/02", "viking://user/02/skills-old/x"], 0))
        page = store.skills.list(1000, 600)
        assert [skill.uri for skill in page.items] == directories[600:]
        assert page.total == 1500
