"""Archives: a scope goes out as lines and comes back whole, beside what is there, or not at all."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from attrs import asdict
from embedders_for_tests import TableEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariants import check_invariants
from processes import run_together
from redis import Redis
from shorthand import DAY, NOON, TIERS, frozen
from snapshots import snapshot
from stores import store_of

from tiered_memory import (
    CorruptRecord,
    DamagedArchive,
    EmbeddingError,
    InvalidInput,
    Memory,
    MemoryItem,
    NotFound,
    ScopedMemory,
    StoreError,
    memory,
)
from tiered_memory.archive import Archive, AsyncArchive
from tiered_memory.archive.lines import Heading, Writer
from tiered_memory.engine.keys import GRAPH_KINDS
from tiered_memory.graph import EntityRef, IndexEntry, known_epoch

SECTION_NAMES = ("tree", "memories", "candidates", "settled", "notes", "files", "sessions", "commits", "graph")
"""The sections of an archive, in their order."""

ANA, OSLO, LISBON = EntityRef("person", "Ana"), EntityRef("place", "Oslo"), EntityRef("place", "Lisbon")

NUMBERS = ("number", "supersedes", "superseded_by", "scope")
"""What differs between a memory and its copy: numbers are given anew, and the scope is another."""


def archive_of(mem: Any) -> Any:
    """The archive of a handle, in its mode."""
    if isinstance(mem, Memory | ScopedMemory):
        return Archive(mem)
    return type(mem)(AsyncArchive(mem._handle), mem._loop)


def sessions_of(mem: Any) -> Any:
    """The sessions of a handle."""
    return store_of(mem).sessions


@pytest.fixture
def client(redis_url: str) -> Iterator[Redis]:
    """A plain client of the worker's Redis."""
    with Redis.from_url(redis_url) as plain:
        yield plain


def exported(mem: Any) -> bytes:
    """The archive of a scope."""
    target = io.BytesIO()
    archive_of(mem).export(target)
    return target.getvalue()


def loaded(mem: Any, data: bytes) -> Any:
    """What became of an archive's records."""
    return archive_of(mem).load(io.BytesIO(data))


def all_pages(call: Any, *arguments: Any, **given: Any) -> list[Any]:
    """Everything that a listing gives, page by page."""
    page = call(*arguments, **given)
    found = list(page.items)
    while page.cursor is not None:
        page = call(*arguments, **given, cursor=page.cursor)
        found += page.items
    return found


def all_rows(store: Any) -> list[Any]:
    """All documents of a tree, those that are switched off too."""
    found: list[Any] = []
    while True:
        page = store.documents.list("viking://", 100, len(found), {"include_disabled": True})
        found += page.items
        if len(found) >= page.total:
            return found


def directories(store: Any, uri: str = "viking://") -> list[str]:
    """All directories of a tree."""
    try:
        names = store.documents.children(uri)
    except NotFound:
        return []
    below = [f"{uri.rstrip('/')}/{name}" if uri != "viking://" else uri + name for name in names]
    return [uri, *(found for each in below for found in directories(store, each))]


def plain(memories: Any) -> list[dict[str, Any]]:
    """Memories without what a copy may have otherwise."""
    return [{name: value for name, value in asdict(each).items() if name not in NUMBERS} for each in memories]


def readable(mem: Any) -> dict[str, Any]:
    """Everything that can be read of a scope."""
    found: dict[str, Any] = {}
    for tier in TIERS:
        listed = all_pages(mem.list, tier)
        found[f"{tier} listed"] = plain(listed)
        if tier != "working":
            waiting = all_pages(mem.review.pending, tier)
            ids = sorted({each.id for each in listed} | {claim.candidate.id for claim in waiting})
            found[f"{tier} histories"] = {id_: plain(mem.history(id_, tier)) for id_ in ids}
            found[f"{tier} waiting"] = plain(claim.candidate for claim in waiting)
    found["stats"] = asdict(mem.memory_stats())
    infos = all_pages(mem.files.list)
    found["files"] = [mem.files.read(info.path) for info in infos]
    store = store_of(mem)
    rows = all_rows(store)
    found["documents"] = {row.uri: (row, store.documents.get(row.uri), store.layers.stored(row.uri)) for row in rows}
    found["tree"] = asdict(store.stats())
    found["directories"] = {
        uri: (store.documents.get(uri), store.documents.children(uri)) for uri in directories(store)
    }
    sessions = store.sessions
    found["commits"] = {
        (id_, row.uri): store.commits.hash(id_, row.uri) for id_ in all_pages(sessions.ids) for row in rows
    }
    found["sessions"] = {id_: all_pages(sessions.messages, id_) for id_ in all_pages(sessions.ids)}
    found["graph"] = mem.graph.view(5000)
    found["frequencies"] = mem.graph.frequencies()
    found["facts"] = {node: mem.graph.facts(node) for node in found["graph"].nodes if isinstance(node, str)}
    return found


def recalled(mem: Any) -> list[tuple[str, float]]:
    """What a recall finds, with the scores."""
    return [(hit.text, round(hit.score, 6)) for hit in mem.recall("q", k=50, threshold=-1)]


def fill(mem: Any) -> None:
    """One of everything, over three days."""
    with frozen(NOON - 3 * DAY) as clock:
        mem.remember(MemoryItem("far", id="home", metadata={"a": 1, "é": [None, 1.5]}, confidence=0.1, source="user"))
        mem.remember(MemoryItem("orth", "episodic", id="trip", at=NOON - 30 * DAY, importance=1.0))
        mem.remember(MemoryItem("exact", "procedural", id="deploy"))
        mem.remember([MemoryItem(text, "working", metadata={"n": 1}) for text in ("one", "two", "three")])
        mem.recall("q", threshold=-1)
        clock.tick(DAY)
        mem.remember(MemoryItem("near", id="home", confidence=1 / 3))
        mem.remember(MemoryItem("edge", "procedural", id="deploy"))
        mem.remember(MemoryItem("exact", id="lost", ttl=timedelta(days=50)))
        mem.remember([MemoryItem("neg", id="home", status="candidate", source="extractor")])
        mem.remember([MemoryItem("q", id="new", status="candidate", metadata={}, ttl=timedelta(days=9))])
        clock.tick(DAY)
        mem.remember([MemoryItem("q", id="new", status="candidate")])
        mem.remember([MemoryItem("far", id="home", status="candidate")])
        mem.remember(MemoryItem("exact", id="home"))
        mem.update("lost", "semantic", importance=0.9, text="near")
        mem.remember(MemoryItem("one", "working", ttl=timedelta(days=20)))
        mem.remember([MemoryItem("twin", id="a"), MemoryItem("twin", id="b")])
        for conflict in mem.conflicts(tier="semantic", threshold=0.999):
            if {conflict.a.id, conflict.b.id} == {"a", "b"}:
                mem.resolve(conflict, keep="both")
        mem.recall("q", threshold=-1)
        mem.files.write("/notes/a.md", "# Tea\n\0")
        mem.files.write("/b", bytes(range(256)), mime="application/x-own")
        clock.tick(3600)
        mem.files.write("/b", b"\xff")
        mem.graph.index("home", [LISBON, ANA], "Ana lived in Lisbon.", known_epoch())
        mem.graph.close("home", NOON - 5 * DAY)
        clock.tick(60)
        mem.graph.index_many([IndexEntry("home", [OSLO, ANA], "Ana lives in Oslo."), IndexEntry("trip", [OSLO])])
        clock.tick(60)
        mem.graph.index("trip", [LISBON], "é\n\t", NOON + DAY)
        mem.graph.close("trip", NOON + 9 * DAY)
        store = store_of(mem)
        store.documents.put("viking://resources/a/b", "text", abstract="mine", overview="also mine")
        store.documents.put("viking://resources/a/b", "another text")
        store.documents.put("viking://resources/a/b/below", "É\0\n", abstract="kept")
        clock.tick(1)
        store.documents.put("viking://user/x", "")
        store.documents.put("viking://gone/x/y", "removed")
        store.documents.remove("viking://gone/x/y")
        store.tags.set_group("viking://resources", "team/a")
        store.tags.set_enabled("viking://resources/a/b/below", False)
        store.tags.set_enabled("viking://user", False)
        sessions = store.sessions
        sessions.restore("empty", [])
        sessions.restore("long", [("user", str(number)) for number in range(250)])
        for role, content in (("user", "Tea?\n"), ("tool", "{}"), ("assistant", "")):
            clock.tick(1)
            sessions.append("long", role, content)
        sessions.commit("long", "viking://user/ada/long")
        store.commits.put("empty", "viking://user/ada/long", "own", "text")


class TestRoundTrip:
    @pytest.mark.parametrize("partitions", [1, 3])
    def test_nothing_is_lost(self, open_memory, client, namespace, partitions):
        """What is loaded into another scope reads as what was exported, in everything but its numbers."""
        mem = open_memory(partitions=partitions)
        source, copy = mem.scoped("a"), mem.scoped("b")
        fill(source)
        with frozen():
            before = readable(source)
            result = loaded(copy, exported(source))
            assert readable(copy) == before == readable(source)
            assert recalled(copy) == recalled(source)
            conflicts = [(each.a.id, each.b.id) for each in copy.conflicts(threshold=0.999)]
            assert conflicts == [(each.a.id, each.b.id) for each in source.conflicts(threshold=0.999)]
            assert ("a", "b") not in conflicts
            assert {name: list(counts) for name, counts in result.outcomes.items()} == {
                name: ["imported"] for name in SECTION_NAMES
            }
            assert exported(copy).count(b"\n") == exported(source).count(b"\n")

    def test_invariants(self, mem, client, namespace):
        """What was loaded lies in Redis as what was remembered does."""
        mem.remember(MemoryItem("far", id="home"))
        mem.remember(MemoryItem("near", id="home", ttl=3600))
        mem.remember(MemoryItem("edge", id="home", status="candidate", ttl=3600))
        mem.remember([MemoryItem("exact", tier) for tier in TIERS])
        mem.recall("q", threshold=-1)
        data = exported(mem)
        loaded(mem.scoped("a"), data)
        loaded(mem.scoped("a"), data)
        held = check_invariants(client, namespace)
        assert held == {"active": 8, "superseded": 2, "candidate": 2}
        mem.scoped("a").clear()
        assert check_invariants(client, namespace) == {"active": 4, "superseded": 1, "candidate": 1}

    @pytest.mark.parametrize("tier", TIERS[1:])
    def test_words(self, mem, client, namespace, tier):
        """A copy is found by the same words and vector, what metadata adds to them included."""
        mem.remember(MemoryItem("exact", tier, metadata={"speaker": "Ana"}))
        loaded(mem.scoped("a"), exported(mem))
        one, other = (client.hgetall(f"{{{namespace}:0}}:record:{number}") for number in (1, 2))
        found_by = [name for name in one if name == b"terms" or name.startswith(b"vector")]
        assert len(found_by) == 2
        assert [one[name] for name in found_by] == [other[name] for name in found_by]

    def test_as_of(self, mem):
        """What was believed at a time is recalled from the copy too."""
        with frozen(NOON) as clock:
            mem.remember(MemoryItem("near", id="home"))
            clock.tick(3600)
            mem.remember(MemoryItem("exact", id="home"))
            copy = mem.scoped("a")
            loaded(copy, exported(mem))
            for handle in (mem, copy):
                assert [hit.text for hit in handle.recall("q", as_of=NOON + timedelta(minutes=1))] == ["near"]
                assert [hit.text for hit in handle.recall("q")] == ["exact"]

    def test_what_goes_on(self, mem):
        """Reviews, updates and new texts go on upon the copy as they would have upon the original."""
        mem.remember(MemoryItem("far", "procedural", id="x", metadata={"kept": 1}))
        mem.remember(MemoryItem("near", "procedural", id="x", status="candidate"))
        copy = mem.scoped("a")
        loaded(copy, exported(mem))
        for handle in (mem, copy):
            assert handle.review.promote("x", "procedural").metadata == {"kept": 1}
            handle.update("x", "procedural", text="edge")
            history = handle.history("x", "procedural")
            assert [(each.text, each.uses) for each in history] == [("edge", 2), ("near", 2), ("far", 1)]
            assert history[0].supersedes == history[1].number

    def test_another_embedder(self, open_memory, namespace):
        """A scope moves to another namespace with another embedder, which embeds the texts anew."""
        mem = open_memory()
        fill(mem)
        other = TableEmbedder({}, id="other", dimensions=8)
        target = open_memory(namespace=f"{namespace}-other", embedder=other)
        data = exported(mem)
        assert b"vector" not in data
        loaded(target, data)
        assert readable(target) == readable(mem)
        assert recalled(target) != recalled(mem)
        assert target.recall("twin", tier="semantic", k=1)[0].similarity == 1.0

    def test_a_memory_in_the_tree(self, mem):
        """A document that is a view of a memory is one in the copy too, with its marks."""
        uri = "viking://user/memories/events/trip"
        mem.remember(MemoryItem("near", "episodic", id=uri))
        store_of(mem).tags.set_group("viking://user/memories/events", "team")
        store_of(mem).tags.set_group(uri, "own")
        mem.remember(MemoryItem("far", id="viking://user/memories/profile/x", status="candidate"))
        copy = mem.scoped("copy")
        data = exported(mem)
        assert loaded(copy, data).outcomes["tree"] == {"imported": 7}
        assert loaded(copy, data).outcomes["tree"] == {"skipped": 7}
        node = store_of(copy).documents.get(uri)
        assert (node.kind, node.content, node.group) == ("doc", "near", "own")
        copy.update(uri, "episodic", text="exact")
        assert store_of(copy).documents.get(uri).content == "exact"
        copy.forget(uri, "episodic")
        copy.review.reject("viking://user/memories/profile/x", "semantic")
        assert store_of(copy).documents.count() == 0

    def test_a_document_where_a_memory_should_be(self, mem):
        """A memory isn't loaded where a document of its own stands, which is a conflict."""
        uri = "viking://user/memories/events/trip"
        mem.remember(MemoryItem("near", id=uri))
        data = exported(mem)
        copy = mem.scoped("copy")
        store_of(copy).documents.put(uri, "mine")
        result = loaded(copy, data)
        assert (result.outcomes["tree"]["conflict"], result.outcomes["memories"]) == (1, {"conflict": 1})
        assert store_of(copy).documents.get(uri).content == "mine"
        assert copy.count() == 0

    def test_empty(self, mem):
        """The archive of a scope that holds nothing is one too."""
        result = loaded(mem, exported(mem.scoped("nobody")))
        assert (result.outcomes, result.manifest.total) == ({}, 0)
        assert mem.scopes().items == []

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        steps=st.lists(
            st.tuples(
                st.sampled_from(["active", "candidate", "promote", "reject", "forget", "recall"]),
                st.sampled_from(["x", "y"]),
                st.sampled_from(["exact", "near", "far"]),
                st.sampled_from(["semantic", "procedural", "working"]),
            ),
            max_size=12,
        )
    )
    def test_whatever_happened(self, redis_url, namespace, embedder, client, steps):
        """Whatever was done to a scope, its copy reads the same and is whole; loading it twice changes nothing."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as root:
            source, copy = root.scoped("a"), root.scoped("b")
            for kind, id_, text, tier in steps:
                if kind in ("promote", "reject") and tier != "working":
                    getattr(source.review, f"{kind}_many")([(id_, tier)])
                elif kind == "active" or (kind == "candidate" and tier != "working"):
                    source.remember(MemoryItem(text, tier, id=id_, status=kind))
                elif kind == "forget":
                    source.forget(id_, tier)
                else:
                    source.recall("q", threshold=-1)
            data = exported(source)
            loaded(copy, data)
            assert all(set(counts) == {"skipped"} for counts in loaded(copy, data).outcomes.values())
            with frozen(NOON + 3000 * DAY):
                assert readable(copy) == readable(source)
            check_invariants(client, namespace)
            root.clear()


class TestAgain:
    def test_skipped(self, mem, embedder):
        """Loading an archive again changes nothing, and embeds nothing."""
        fill(mem)
        embedder.calls.clear()
        with frozen():
            before = readable(mem)
            result = loaded(mem, exported(mem))
            assert readable(mem) == before
        assert all(set(counts) == {"skipped"} for counts in result.outcomes.values())
        assert embedder.calls == []

    @pytest.mark.parametrize("steps", [0, 3, 6])
    def test_interrupted(self, mem, steps):
        """A load that was interrupted goes on when it is done again."""
        fill(mem)
        copy = mem.scoped("copy")
        with frozen():
            data, left = exported(mem), [None] * steps
            with pytest.raises(IndexError):
                archive_of(copy).load(io.BytesIO(data), progress=lambda *_: left.pop())
            outcomes = loaded(copy, data).outcomes
            assert {outcome for counts in outcomes.values() for outcome in counts} == {"imported", "skipped"}
            assert readable(copy) == readable(mem)

    def test_additive(self, mem):
        """What isn't in the archive stays, and what is missing comes back."""
        mem.remember(MemoryItem("near", id="home"))
        data = exported(mem)
        mem.forget("home", "semantic")
        mem.remember(MemoryItem("far", id="other"))
        assert loaded(mem, data).outcomes["memories"] == {"imported": 1}
        assert {each.id for each in mem.list("semantic").items} == {"home", "other"}

    def test_later_archive(self, mem, client, namespace):
        """A later archive of the same memories puts what is new on top of what stands."""
        copy = mem.scoped("a")
        with frozen() as clock:
            for text in ("far", "near", "edge"):
                mem.remember(MemoryItem(text, id="home"))
                mem.recall("q", threshold=-1)
                loaded(copy, exported(mem))
                assert plain(copy.history("home", "semantic"))[0]["text"] == text
                clock.tick(60)
            assert plain(copy.history("home", "semantic")) == plain(mem.history("home", "semantic"))
        check_invariants(client, namespace)

    def test_earlier_archive(self, mem):
        """An earlier archive takes nothing back."""
        mem.remember(MemoryItem("far", id="home"))
        data = exported(mem)
        mem.remember(MemoryItem("near", id="home"))
        assert loaded(mem, data).outcomes["memories"] == {"skipped": 1}
        assert mem.get("home", "semantic").text == "near"

    @pytest.mark.parametrize("pruned", ["source", "copy"])
    def test_pruned(self, mem, client, namespace, pruned):
        """Where the history of one side was pruned, what both have says that they are the same."""
        source, copy = mem, mem.scoped("a")
        with frozen() as clock:
            for text in ("far", "near", "edge"):
                source.remember(MemoryItem(text, id="home"))
                clock.tick(60)
            loaded(copy, exported(source))
            (source if pruned == "source" else copy).prune_history()
            assert loaded(copy, exported(source)).outcomes["memories"] == {"skipped": 1}
            source.remember(MemoryItem("exact", id="home"))
            assert loaded(copy, exported(source)).outcomes["memories"] == {"imported": 1}
            assert copy.history("home", "semantic")[0].text == "exact"
        check_invariants(client, namespace)

    def test_conflicts(self, mem):
        """What else stands there stays, and is named."""
        with frozen():
            mem.remember([MemoryItem("far", tier, id="home") for tier in TIERS])
            mem.files.write("/a", "one")
            mem.files.write("/b/c", "one")
            sessions_of(mem).restore("s", [("user", "one")])
            data = exported(mem)
        copy = mem.scoped("a")
        copy.remember([MemoryItem("near", tier, id="home") for tier in TIERS])
        copy.files.write("/a", "two")
        copy.files.write("/b", "two")
        sessions_of(copy).restore("s", [("user", "two")])
        before = readable(copy)
        result = loaded(copy, data)
        assert result.conflicts == [
            ("memories", "semantic home"),
            ("memories", "episodic home"),
            ("memories", "procedural home"),
            ("notes", "working home"),
            ("files", "/a"),
            ("files", "/b/c"),
            ("sessions", "s"),
        ]
        assert readable(copy) == before

    def test_long_session_that_differs(self, mem):
        """Of a long session that differs in its beginning nothing is appended."""
        sessions, copies = sessions_of(mem), sessions_of(mem.scoped("a"))
        sessions.restore("s", [("user", str(number)) for number in range(250)])
        copies.restore("s", [("user", "other") for number in range(100)])
        result = loaded(mem.scoped("a"), exported(mem))
        assert result.outcomes["sessions"] == {"conflict": 3}
        assert len(copies.messages("s", limit=1000).items) == 100

    def test_expired(self, mem):
        """What has expired since isn't written."""
        with frozen() as clock:
            mem.remember(MemoryItem("near", id="a", ttl=60))
            mem.remember(MemoryItem("near", id="b", ttl=60, status="candidate"))
            mem.remember(MemoryItem("near", "working", id="c", ttl=60))
            data = exported(mem)
            clock.tick(61)
            outcomes = loaded(mem.scoped("a"), data).outcomes
            assert outcomes == {name: {"expired": 1} for name in ("memories", "candidates", "notes")}
            assert mem.scoped("a").count() == 0

    def test_bounded(self, open_memory, namespace):
        """A tier's bound holds for what is loaded: the most worth keeping and the newest notes stay."""
        mem = open_memory()
        with frozen() as clock:
            for number in range(5):
                mem.remember(MemoryItem(f"text {number}", id=str(number), importance=number / 5))
                mem.remember(MemoryItem(f"text {number}", "working", id=str(number)))
                clock.tick(1)
            data = exported(mem)
            target = open_memory(namespace=f"{namespace}-small", semantic={"max_items": 2}, working={"max_items": 2})
            loaded(target, data)
            assert sorted(each.id for each in target.list("semantic").items) == ["3", "4"]
            assert [each.id for each in target.list("working").items] == ["3", "4"]


class TestDamage:
    @pytest.fixture
    def data(self, mem):
        """An archive of a few lines."""
        mem.remember([MemoryItem(text, id=text) for text in ("near", "far", "edge")])
        mem.files.write("/a", "one")
        return exported(mem)

    def refused(self, mem, data, match=None):
        """The archive is refused, and nothing of it is written."""
        copy = mem.scoped("copy")
        for call in (lambda: archive_of(copy).check(io.BytesIO(data)), lambda: loaded(copy, data)):
            with pytest.raises(DamagedArchive, match=match):
                call()
        assert "copy" not in mem.scopes().items

    def test_every_line(self, mem, data):
        """An archive that lacks a line, has one twice, or has two in another order is refused."""
        lines = data.splitlines(keepends=True)
        for place in range(len(lines)):
            self.refused(mem, b"".join(lines[:place] + lines[place + 1 :]))
            self.refused(mem, b"".join([*lines[: place + 1], *lines[place:]]))
        for place in range(len(lines) - 1):
            self.refused(mem, b"".join([*lines[:place], lines[place + 1], lines[place], *lines[place + 2 :]]))

    def test_cut_short(self, mem, data):
        """An archive that was cut short is refused, wherever."""
        for end in [0, *range(1, len(data) - 1, 97), len(data) - 2]:
            self.refused(mem, data[:end])

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255))
    def test_any_byte(self, mem, data, place, byte):
        """An archive in which any byte was changed is refused, or says the same."""
        at = int(place * len(data))
        changed = data[:at] + bytes([byte]) + data[at + 1 :]
        try:
            manifest = archive_of(mem).check(io.BytesIO(changed))
        except DamagedArchive:
            return
        assert manifest.sha256 == archive_of(mem).check(io.BytesIO(data)).sha256

    def forged(self, data, section, change):
        """The archive with a record changed and the checksums made to fit."""
        _, *lines, _ = map(json.loads, data.splitlines())
        writer = Writer(Heading(None, "table"))
        parts = [writer.heading()]
        for line in lines:
            if line["section"] == section:
                change(line["record"])
            parts.append(writer.records(line["section"], [line["record"]]))
        return b"".join([*parts, writer.end()])

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("tier", "none"),
            ("tier", "working"),
            ("tier", None),
            ("id", ""),
            ("id", 7),
            ("versions", []),
            ("versions", None),
            ("versions", [{}]),
        ],
    )
    def test_bad_memory(self, mem, data, name, value):
        """A record with right checksums that nevertheless makes no sense is refused, with its line."""
        self.refused(mem, self.forged(data, "memories", lambda record: record.update({name: value})), "line 2")

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("text", ""),
            ("text", None),
            ("text", "too long " * 200_000),
            ("confidence", 2),
            ("importance", None),
            ("uses", 0),
            ("uses", "1"),
            ("surfaced", -1),
            ("surfaced", 3),
            ("at", "yesterday"),
            ("created_at", None),
            ("recorded_at", 7),
            ("active_from", None),
            ("updated_at", "2026-03-01T12:00:00"),
            ("metadata", []),
            ("metadata", "{}"),
            ("source", 7),
            ("reason", 7),
        ],
    )
    def test_bad_version(self, mem, data, name, value):
        """Each value of a version is checked as what is remembered is."""
        forged = self.forged(data, "memories", lambda record: record["versions"][0].update({name: value}))
        self.refused(mem, forged, "line 2")

    @pytest.mark.parametrize(
        ("name", "value"), [("path", "../a"), ("path", 7), ("text", 7), ("mime", 7), ("modified_at", None)]
    )
    def test_bad_file(self, mem, data, name, value):
        """Each value of a file is checked as what is written is."""
        self.refused(mem, self.forged(data, "files", lambda record: record.update({name: value})), "line 5")

    def test_not_one(self, mem):
        """What isn't an archive, or is one of a newer release, is refused by what it is."""
        self.refused(mem, b"")
        self.refused(mem, b"\n")
        self.refused(mem, b"[]\n", "doesn't begin")
        self.refused(mem, b'{"format": "other"}\n', "doesn't begin")
        self.refused(mem, b'{"format":"tiered-memory archive","version":2}\n', "version 2")
        self.refused(mem, b'{"format":"tiered-memory archive"}\n')
        self.refused(mem, b"[" * 100_000 + b"\n")
        self.refused(mem, b"\xff\xfe\n")

    def test_unknown_section(self, mem, data):
        """A section that this release doesn't know is refused by its name."""
        writer = Writer(Heading(None, "table"))
        line = writer.heading() + writer.records("dreams", [{}]) + writer.end()
        self.refused(mem, line, "dreams")


class TestStreams:
    def test_path(self, mem, tmp_path):
        """A path has the whole archive once it is exported."""
        mem.remember("near")
        path = tmp_path / "a.jsonl"
        manifest = archive_of(mem).export(path)
        assert path.read_bytes() == exported_at(path, manifest)
        assert archive_of(mem.scoped("a")).load(str(path)).outcomes == {"memories": {"imported": 1}}
        assert list(tmp_path.iterdir()) == [path]

    def test_failed_export(self, mem, tmp_path, client, namespace):
        """An export that fails leaves the path as it was."""
        mem.remember("near")
        path = tmp_path / "a.jsonl"
        path.write_text("old")
        key = next(iter(client.scan_iter(f"{{{namespace}:0}}:order:*")))
        client.set(key, "junk")
        with pytest.raises(CorruptRecord):
            archive_of(mem).export(path)
        assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])

    @pytest.mark.parametrize("make", [list, iter, lambda lines: (line.decode().rstrip("\n") for line in lines)])
    def test_lines(self, mem, make):
        """Lines may come from anywhere, as bytes or text."""
        mem.remember("near")
        lines = exported(mem).splitlines(keepends=True)
        assert archive_of(mem.scoped("a")).load(make(lines)).outcomes == {"memories": {"imported": 1}}

    def test_part_of_a_file(self, mem):
        """An open file is read from where it stands, and stays open."""
        mem.remember("near")
        source = io.BytesIO(b"before\n" + exported(mem))
        source.readline()
        assert archive_of(mem.scoped("a")).load(source).outcomes == {"memories": {"imported": 1}}
        assert not source.closed

    def test_text_file(self, mem, tmp_path):
        """A file that is open as text can be read, not written."""
        mem.remember("near")
        (tmp_path / "a").write_bytes(exported(mem))
        with (tmp_path / "a").open(encoding="utf-8") as source:
            assert archive_of(mem.scoped("a")).load(source).outcomes == {"memories": {"imported": 1}}
        with (tmp_path / "b").open("w") as target, pytest.raises(InvalidInput):
            archive_of(mem).export(target)

    def test_refused(self, mem, tmp_path):
        """What is no place for an archive is refused."""
        for bad in (7, None, b"bytes"):
            with pytest.raises(InvalidInput):
                archive_of(mem).load(bad)
            with pytest.raises(InvalidInput):
                archive_of(mem).export(bad)
        with pytest.raises(StoreError, match="can't be read"):
            archive_of(mem).load(tmp_path / "none")
        with pytest.raises(StoreError, match="can't be written"):
            archive_of(mem).export(tmp_path / "none" / "a")

    def test_progress(self, mem):
        """Progress is told as records are done, and of how many where that is known."""
        fill(mem)
        told: list[Any] = []
        target = io.BytesIO()
        manifest = archive_of(mem).export(target, progress=lambda *step: told.append(step))
        assert {name: done for name, done, _ in told if done} == manifest.records
        told.clear()
        target.seek(0)
        archive_of(mem.scoped("a")).load(target, progress=lambda *step: told.append(step))
        assert told[-1][1:] == (manifest.total, manifest.total)

    def test_bounded_memory(self, mem):
        """Neither exporting nor loading holds the whole archive."""
        import tracemalloc

        for number in range(40):
            mem.files.write(f"/{number}", b"x" * 1_000_000)
        target = _Counting()
        tracemalloc.start()
        archive_of(mem).export(target)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert target.size > 40_000_000
        assert peak < 25_000_000
        copy = archive_of(mem.scoped("a"))
        lines = self._lines(40)
        tracemalloc.start()
        copy.load(lines)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(mem.scoped("a").files.list().items) == 40
        assert peak < 60_000_000

    def _lines(self, count: int) -> Iterator[bytes]:
        """An archive of files of a million bytes each, made as it is read."""
        writer = Writer(Heading(None, "table"))
        yield writer.heading()
        for number in range(count):
            times = {"created_at": NOON.isoformat(), "modified_at": NOON.isoformat()}
            yield writer.records("files", [{"path": f"/{number}", "mime": "text/plain", "text": "x" * 10**6, **times}])
        yield writer.end()


class _Counting(io.RawIOBase):
    """Counts what is written, and drops it."""

    size = 0

    def write(self, data: Any) -> int:
        self.size += len(data)
        return len(data)


def exported_at(path: Any, manifest: Any) -> bytes:
    """What a path has, if it is what the manifest says."""
    data = path.read_bytes()
    assert json.loads(data.splitlines()[-1])["manifest"]["sha256"] == manifest.sha256
    return data


class TestTogether:
    def test_processes(self, redis_url, namespace, embedder):
        """Processes that load the same archive at the same time leave what one of them would."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            fill(mem)
            mem.scoped("archive").files.write("/archive", exported(mem))
            run_together("load_one_archive", 4, redis_url, namespace)
            assert readable(mem.scoped("copy")) == readable(mem)


class TestFaults:
    @pytest.mark.parametrize(
        "kind",
        [
            "slots", "order", "expiry", "retention", "surfaced", "surfaced_at", "waiting", "lapsing", "claims", "tally",
            "scopes", "holding", "counts", "due", "sequence",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("section", ["semantic", "working"])
    def test_wrong_type(self, mem, client, namespace, kind, section):
        """A key of another type is refused before anything of a batch is written, whichever it is."""
        mem.remember(MemoryItem("near", section, id="a"))
        data = exported(mem)
        mem.clear()
        mem.remember(MemoryItem("far", section, id="b"))
        token = Archive(mem)._runner._keyspace.of(None).token(section) if isinstance(mem, Memory) else None
        token = token or mem._handle._runner._keyspace.of(None).token(section)
        shared = kind in ("scopes", "holding", "counts", "due", "sequence")
        key = f"{{{namespace}:0}}:{kind}" + ("" if shared else f":{token}")
        client.delete(key)
        client.lpush(key, "junk")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            loaded(mem, data)
        assert snapshot(client, namespace) == before

    @pytest.mark.parametrize(
        ("section", "kind"),
        [
            *(("tree", kind) for kind in ("documents", "directories", "enabled", "marked", "nodes", "job_kinds")),
            ("sessions", "sessions"),
            ("sessions", "session"),
            ("commits", "commits"),
            ("files", "paths"),
            ("files", "file"),
            *(("graph", kind) for kind in GRAPH_KINDS),
        ],
    )
    def test_wrong_type_in_the_store(self, mem, client, namespace, section, kind):
        """Likewise for what else a scope holds; what comes before it is loaded."""
        store = store_of(mem)
        fillers = {
            "tree": lambda: store.documents.put("viking://a/b", "text"),
            "sessions": lambda: store.sessions.restore("s", [("user", "a")]),
            "commits": lambda: store.commits.put("s", "viking://a/b", "h", "text"),
            "files": lambda: mem.files.write("/a", "text"),
            "graph": lambda: mem.graph.index("home", [ANA]),
        }
        fillers[section]()
        data = exported(mem)
        copy = mem.scoped("copy")
        copy.count()
        runner = mem._runner if isinstance(mem, Memory) else mem._handle._runner
        keys = runner._keyspace.of("copy")
        key = keys.key(kind, section if section in ("files", "graph") else "tree")
        key += {"session": ":s", "file": ":/a"}.get(kind, "")
        client.lpush(key, "junk") if kind != "session" else client.set(key, "junk")
        before = snapshot(client, namespace)
        with pytest.raises(CorruptRecord):
            loaded(copy, data)
        after = snapshot(client, namespace)
        if section == "commits":
            assert after[key.encode()] == before[key.encode()]
        else:
            assert after == before

    def test_embedder_fails(self, mem, embedder, monkeypatch):
        """When the embedder fails, what was to be embedded isn't written, and a second try goes on."""
        mem.remember(MemoryItem("near", id="a"))
        data = exported(mem)
        copy = mem.scoped("a")
        with monkeypatch.context() as patch:
            patch.setattr(embedder, "embed", lambda texts: 1 / 0)
            with pytest.raises(EmbeddingError):
                loaded(copy, data)
        assert copy.count() == 0
        assert loaded(copy, data).outcomes == {"memories": {"imported": 1}}
