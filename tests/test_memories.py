"""Memories in the tree: documents that show what is remembered at their URIs."""

from __future__ import annotations

from datetime import timedelta

import pytest
from embedders_for_tests import TableEmbedder
from invariants import check_invariants
from shorthand import NOON, frozen, texts
from stores import commands_of

from tiered_memory import (
    ConfigError,
    EmbeddingError,
    EmbeddingsUnavailable,
    InvalidItem,
    InvalidLimit,
    InvalidMemoryType,
    InvalidPayload,
    InvalidQuery,
    InvalidURI,
    KindConflict,
    MemoryConfig,
    MemoryItem,
    NoCandidate,
    NoMemory,
    NotAMemoryURI,
    UnknownTier,
)

M = "viking://user/memories"
E = f"{M}/events"
EVERYTHING = ("active", "superseded", "candidate")
JOB = ("work", {})


@pytest.fixture
def memories(mem):
    """The memories of the unscoped pool."""
    return mem.store.memories


@pytest.fixture
def documents(mem):
    """The documents of the unscoped pool."""
    return mem.store.documents


@pytest.fixture(autouse=True)
def whole(mem, client, namespace):
    """Whatever a test has done, what the tree shows is what stands."""
    yield
    for scope in mem.scopes().items:
        (mem if scope is None else mem.scoped(scope)).store.jobs.cancel("viking://")
    check_invariants(client, namespace)


def content(documents, uri):
    """What a document says, or None where there is none."""
    node = documents.get(uri)
    return None if node is None else node.content


class TestPut:
    def test_a_new_value(self, memories, documents):
        """Another value takes the place of the active one, which stays as history with the number of its successor."""
        assert memories.put(f"{E}/a", "Go", 0.6, "user").outcome == "recorded"
        assert memories.put(f"{E}/a", "Elixir", 0.9).outcome == "superseded"
        newer, older = memories.recall(statuses=EVERYTHING)
        assert (newer.text, newer.status, newer.confidence, newer.superseded_by) == ("Elixir", "active", 0.9, None)
        assert (older.text, older.status, older.source) == ("Go", "superseded", "user")
        assert older.superseded_by == newer.number
        assert content(documents, f"{E}/a") == "Elixir"

    def test_the_same_value(self, mem, memories):
        """The same value is one more use: one assertion, its confidence as it was, and no second job."""
        memories.put(f"{E}/a", "Go", 0.6, importance=0.1, jobs=[JOB])
        assert memories.put(f"{E}/a", "Go", 0.9, "other", jobs=[JOB]).outcome == "reaffirmed"
        (only,) = memories.recall(statuses=EVERYTHING)
        assert (only.confidence, only.importance, only.source, only.uses) == (0.6, 0.1, None, 2)
        assert mem.store.jobs.count_kind("work") == 1

    def test_jobs(self, mem, memories):
        """Jobs come with what says something new, and know its URI and content."""
        memories.put(f"{E}/a", "Go", jobs=[JOB, ("embed", {"extra": 1})])
        job = mem.store.jobs.claim(["embed"])
        assert (job.uri, job.payload["extra"]) == (f"{E}/a", 1)
        assert job.payload["content_hash"] == mem.store.documents.get(f"{E}/a").content_hash
        memories.put(f"{E}/a", "C", status="candidate", jobs=[JOB])
        memories.put(f"{E}/a", "C", status="candidate", jobs=[JOB])
        assert mem.store.jobs.count_kind("work") == 2

    def test_one_step(self, memories, client):
        """A memory, its document and its jobs are one command."""
        memories.put(f"{E}/a", "Go", jobs=[JOB])
        assert commands_of(client, lambda: memories.put(f"{E}/b", "C", jobs=[JOB])) == ["EVALSHA"]

    def test_defaults(self, memories):
        """Confidence and importance are one half unless they are given."""
        memories.put(f"{E}/a", "Go")
        (only,) = memories.recall()
        assert (only.confidence, only.importance, only.source) == (0.5, 0.5, None)

    @pytest.mark.parametrize(
        ("uri", "error"),
        [
            ("viking://user/memories//a", InvalidURI),
            ("events/a", InvalidURI),
            ("viking://user/memories/events", NotAMemoryURI),
            ("viking://anything/memories/events/a", NotAMemoryURI),
            ("viking://resources/a", NotAMemoryURI),
            ("viking://", NotAMemoryURI),
            ("viking://user/memories/dreams/a", InvalidMemoryType),
        ],
    )
    def test_where(self, memories, uri, error):
        """What isn't the URI of a memory of a known type is refused."""
        for call in (lambda: memories.put(uri, "x"), lambda: memories.promote(uri), lambda: memories.recorded(uri)):
            with pytest.raises(error):
                call()

    @pytest.mark.parametrize(
        "wrong", [{"confidence": 1.1}, {"confidence": "x"}, {"importance": -0.1}, {"status": "superseded"}]
    )
    def test_what(self, memories, wrong):
        """A confidence or an importance outside [0, 1], a status that can't be put, and a blank value are refused."""
        with pytest.raises(InvalidItem):
            memories.put(f"{E}/a", "x", **wrong)
        with pytest.raises(InvalidItem):
            memories.put(f"{E}/a", " ")
        assert not memories.recorded(f"{E}/a")

    def test_a_bad_job(self, memories, documents):
        """A job that can't be kept leaves nothing written."""
        with pytest.raises(InvalidPayload):
            memories.put(f"{E}/a", "x", jobs=[("work", {"x": object()})])
        assert (memories.recorded(f"{E}/a"), documents.count()) == (False, 0)

    def test_an_embedder_that_fails(self, memories, documents, embedder, monkeypatch):
        """Without an embedding nothing is written."""
        monkeypatch.setattr(embedder, "embed", lambda texts: 1 / 0)
        with pytest.raises(EmbeddingError):
            memories.put(f"{E}/a", "x")
        assert documents.count() == 0

    def test_a_document_in_its_place(self, mem, memories, documents):
        """Where a document that is no memory stands, none can be put, and neither the other way round."""
        documents.put(f"{E}/a", "mine")
        for put in (memories.put, lambda uri, text: mem.remember(MemoryItem(text, id=uri, status="candidate"))):
            with pytest.raises(KindConflict):
                put(f"{E}/a", "x")
        assert (content(documents, f"{E}/a"), memories.recorded(f"{E}/a")) == ("mine", False)
        memories.put(f"{E}/b", "x")
        with pytest.raises(KindConflict):
            documents.put(f"{E}/b", "mine")

    def test_a_directory_in_its_place(self, mem, memories, documents):
        """A directory becomes a document where a memory is put, keeps its marks, and is one again without it."""
        memories.put(f"{E}/a/b", "below")
        mem.store.tags.set_group(f"{E}/a", "team")
        memories.put(f"{E}/a", "above")
        assert (documents.get(f"{E}/a").kind, documents.get(f"{E}/a").group) == ("doc", "team")
        memories.forget(f"{E}/a")
        assert (documents.get(f"{E}/a").kind, documents.get(f"{E}/a").group) == ("dir", "team")
        assert content(documents, f"{E}/a/b") == "below"

    def test_scopes(self, mem, memories):
        """Each scope has memories of its own."""
        memories.put(f"{E}/a", "pool")
        mem.scoped("a").store.memories.put(f"{E}/a", "own")
        assert texts(mem.scoped("a").store.memories.recall()) == ["own"]
        assert mem.scoped("b").store.memories.recall() == []
        assert content(mem.store.documents, f"{E}/a") == "pool"


class TestCandidates:
    def test_at_a_fresh_uri(self, memories, documents):
        """A candidate where nothing stands isn't active, but recorded, and a document."""
        memories.put(f"{E}/a", "B", status="candidate")
        assert memories.recall() == []
        assert texts(memories.recall(statuses=["candidate"])) == ["B"]
        assert memories.recorded(f"{E}/a")
        assert content(documents, f"{E}/a") == "B"

    def test_beside_an_active_one(self, memories, documents):
        """The document shows the active memory until the candidate is promoted."""
        memories.put(f"{E}/a", "A")
        memories.put(f"{E}/a", "B", status="candidate")
        assert content(documents, f"{E}/a") == "A"
        assert memories.promote(f"{E}/a").text == "B"
        assert content(documents, f"{E}/a") == "B"
        with pytest.raises(NoCandidate):
            memories.promote(f"{E}/a")

    def test_several(self, memories, documents):
        """The newest of several candidates is shown, and promoted; the others go."""
        for value in "BCD":
            memories.put(f"{E}/a", value, status="candidate")
            assert content(documents, f"{E}/a") == value
        memories.promote(f"{E}/a")
        assert texts(memories.recall(statuses=EVERYTHING)) == ["D"]

    def test_reject(self, memories, documents):
        """Rejecting leaves the active memory and its document."""
        memories.put(f"{E}/a", "A")
        memories.put(f"{E}/a", "B", status="candidate")
        memories.reject(f"{E}/a")
        assert (texts(memories.recall(statuses=EVERYTHING)), content(documents, f"{E}/a")) == (["A"], "A")
        with pytest.raises(NoCandidate):
            memories.reject(f"{E}/a")

    def test_reject_all_there_is(self, memories, documents):
        """Where a candidate was all there was, rejecting it leaves no trace."""
        memories.put(f"{E}/a", "B", status="candidate")
        memories.reject(f"{E}/a")
        assert memories.recall(statuses=EVERYTHING) == []
        assert not memories.recorded(f"{E}/a")
        assert documents.get(f"{E}/a") is None
        assert documents.get(E).kind == "dir"

    @pytest.mark.parametrize("order", [["a", "a/b"], ["a/b", "a"]])
    def test_reject_above_another(self, memories, documents, order):
        """What lies below a rejected candidate survives."""
        for name in order:
            memories.put(f"{E}/{name}", name, status="candidate" if name == "a" else "active")
        memories.reject(f"{E}/a")
        assert texts(memories.recall(statuses=EVERYTHING)) == ["a/b"]
        assert content(documents, f"{E}/a/b") == "a/b"

    def test_the_gate(self, open_memory, client, namespace):
        """A doubtful claim waits for review here as anywhere."""
        memories = open_memory(gate={"confidence_floor": 0.3}).store.memories
        assert memories.put(f"{E}/a", "x", 0.1).outcome == "queued"


class TestForget:
    def test_all_at_a_uri(self, memories, documents):
        """What stood, stands and waits at a URI goes with its document, and nothing else."""
        for value, status in (("A", "active"), ("B", "active"), ("C", "candidate")):
            memories.put(f"{E}/a", value, status=status)
        memories.put(f"{E}/a-b", "other")
        assert memories.forget(f"{E}/a") == 2
        assert documents.get(f"{E}/a") is None
        assert texts(memories.recall(statuses=EVERYTHING)) == ["other"]
        with pytest.raises(NoMemory):
            memories.forget(f"{E}/a")

    def test_a_document(self, memories, documents):
        """A document that is no memory isn't forgotten."""
        documents.put(f"{E}/a", "mine")
        with pytest.raises(NoMemory):
            memories.forget(f"{E}/a")
        assert content(documents, f"{E}/a") == "mine"

    def test_a_subtree(self, mem, memories, documents):
        """Removing a subtree forgets its memories with their history, and cancels their jobs; others stay."""
        g = f"{E}/g"
        for uri in (g, f"{g}/a", f"{g}-old"):
            memories.put(uri, "A", jobs=[JOB])
            memories.put(uri, "B")
            memories.put(uri, "C", status="candidate")
        documents.put(f"{g}/notes", "mine", jobs=[JOB])
        assert documents.remove(g) == 3
        assert [each.id for each in memories.recall(statuses=EVERYTHING)] == [f"{g}-old"] * 3
        assert mem.count() == 1
        assert mem.store.jobs.count(g, ["pending"]) == 0
        assert mem.store.jobs.count(f"{g}-old", ["pending"]) == 1

    def test_clear(self, mem, memories, documents):
        """Clearing a tier takes its documents; clearing the scope takes all."""
        memories.put(f"{E}/a", "A")
        memories.put(f"{M}/profile/a", "B")
        mem.scoped("other").store.memories.put(f"{E}/a", "A")
        mem.clear("episodic") if mem.scope else mem.forget(f"{E}/a", "episodic")
        assert [row.uri for row in documents.list().items] == [f"{M}/profile/a"]
        mem.scoped("other").clear("episodic")
        assert mem.scoped("other").store.documents.count() == 0
        mem.clear()
        assert (documents.count(), mem.scopes().items) == (0, [])

    def test_erase(self, mem):
        """Erasing a scope leaves nothing of its memories in the tree."""
        memories = mem.scoped("a").store.memories
        for value, status in (("A", "active"), ("B", "active"), ("C", "candidate")):
            memories.put(f"{E}/a", value, status=status)
        assert mem.erase("a") == 2
        assert mem.scopes().items == []

    def test_expired(self, mem, memories, documents):
        """What expires goes with its document."""
        with frozen() as clock:
            mem.remember(MemoryItem("A", id=f"{E}/a", ttl=60))
            memories.put(f"{E}/a", "C", status="candidate")
            mem.remember(MemoryItem("B", id=f"{E}/b", ttl=60))
            clock.tick(timedelta(seconds=61))
            assert memories.recall() == []
            memories.put(f"{E}/c", "new")
            assert [row.uri for row in documents.list().items] == [f"{E}/a", f"{E}/c"]
            assert content(documents, f"{E}/a") == "C"
            assert memories.stats().by_status == {"active": 1, "candidate": 1, "superseded": 0}

    def test_expired_and_not_yet_swept(self, mem, documents):
        """What Redis has reclaimed isn't there, even before anything was written since."""
        mem.remember(MemoryItem("A", id=f"{E}/a", ttl=0.001))
        mem.remember(MemoryItem("A", id=f"{E}/b", ttl=60))
        while documents.get(f"{E}/a") is not None:
            pass
        assert documents.get_many([f"{E}/a", f"{E}/b"])[1].content == "A"
        assert [line.uri for line in mem.store.search.grep("A")] == [f"{E}/b"]
        mem.store.memories.stats()
        assert mem.store.documents.count(E) == 1

    def test_evicted(self, open_memory, client, namespace):
        """What gives way in a bounded tier is no document any more."""
        mem = open_memory(episodic={"max_items": 2})
        for name in "abc":
            mem.store.memories.put(f"{E}/{name}", name)
        assert mem.store.documents.count(E) == 2


class TestOneStoreOfBeliefs:
    def test_remember(self, mem, memories, documents):
        """What is remembered at such an id is a document, in the tier of its type, and recalled from there."""
        (done,) = mem.remember(MemoryItem("exact", id=f"{E}/a"))
        assert done.tier == "episodic"
        assert content(documents, f"{E}/a") == "exact"
        assert texts(mem.recall("q")) == ["exact"]
        assert texts(memories.recall()) == ["exact"]
        with pytest.raises(InvalidItem, match="'episodic'"):
            mem.remember(MemoryItem("exact", "semantic", id=f"{E}/a"))

    def test_review(self, mem, memories, documents):
        """A review of what was put is one of the document, and the other way round."""
        memories.put(f"{E}/a", "A", status="candidate")
        mem.review.promote(f"{E}/a", "episodic")
        assert (texts(memories.recall()), content(documents, f"{E}/a")) == (["A"], "A")
        mem.remember(MemoryItem("B", id=f"{E}/a", status="candidate"))
        memories.promote(f"{E}/a")
        assert mem.get(f"{E}/a", "episodic").text == "B"
        assert texts(mem.history(f"{E}/a", "episodic")) == ["B", "A"]

    def test_update_and_forget(self, mem, memories, documents):
        """An update is seen in the document, and so is forgetting."""
        memories.put(f"{E}/a", "A")
        mem.update(f"{E}/a", "episodic", text="B")
        assert content(documents, f"{E}/a") == "B"
        mem.forget(f"{E}/a", "episodic")
        assert documents.get(f"{E}/a") is None

    def test_a_batch(self, mem, documents):
        """A batch has memories that are documents and others, in several tiers; one in the wrong place refuses all."""
        batch = [MemoryItem(f"{number}", id=f"{M}/{name}/a") for number, name in enumerate(("events", "entities"))]
        mem.remember([*batch, MemoryItem("plain"), MemoryItem("again", id=f"{E}/a")])
        assert [node.content for node in documents.get_many([f"{E}/a", f"{M}/entities/a"])] == ["again", "1"]
        documents.put(f"{E}/taken", "mine")
        with pytest.raises(KindConflict):
            mem.remember([MemoryItem("new"), MemoryItem("x", id=f"{E}/taken")])
        assert mem.count() == 3

    @pytest.mark.parametrize(
        "id_", ["viking://user/memories/dreams/a", f"{E}//a", E, "viking://resources/a", f"{E}x/a"]
    )
    def test_other_ids(self, mem, documents, id_):
        """An id that isn't the URI of a memory of a known type is an id like any other."""
        mem.remember(MemoryItem("A", id=id_))
        assert mem.get(id_, "semantic").text == "A"
        assert documents.count() == 0

    def test_plain_ids_cost_nothing_more(self, mem, client, namespace):
        """Remembering without a URI runs the same commands whether the tree shows memories or not."""
        mem.remember("first")

        def calls(text):
            before = client.info("commandstats")
            mem.remember(text)
            after = client.info("commandstats")
            return {
                name: stats["calls"] - before.get(name, {"calls": 0})["calls"]
                for name, stats in after.items()
                if name not in ("cmdstat_info", "cmdstat_type", "cmdstat_hget")
                and stats["calls"] != before.get(name, {"calls": 0})["calls"]
            }

        plain = calls("second")
        mem.store.memories.put(f"{M}/profile/a", "A")
        assert calls("third") == plain
        assert set(plain) <= {
            "cmdstat_evalsha", "cmdstat_incrby", "cmdstat_hset", "cmdstat_zadd", "cmdstat_hincrby", "cmdstat_hmget",
            "cmdstat_zrange", "cmdstat_zcount", "cmdstat_exists", "cmdstat_hlen",
        }  # fmt: skip


class TestReading:
    def test_as_documents(self, mem, memories, documents):
        """Memories are among children, counts, lists, paths, lines and what is found by keyword, in any script."""
        memories.put(f"{E}/a", "Die Straße\nÉcole")
        memories.put(f"{M}/profile/me", "waits", status="candidate")
        documents.put("viking://resources/a", "school")
        assert documents.children(M) == ["events", "profile"]
        assert (documents.count(), documents.count(M), mem.store.stats().documents) == (3, 2, 3)
        assert [row.uri for row in documents.list(M).items] == [f"{E}/a", f"{M}/profile/me"]
        assert [hit.uri for hit in mem.store.search.paths("PROFILE")] == [f"{M}/profile", f"{M}/profile/me"]
        assert [(hit.uri, hit.line) for hit in mem.store.search.grep("école")] == [(f"{E}/a", 2)]
        assert [hit.uri for hit in mem.store.search.keyword("STRASSE")] == [f"{E}/a"]
        assert [hit.content for hit in mem.store.search.keyword("WAIT")] == ["waits"]

    def test_layers(self, mem, memories):
        """A memory has layers: made by a job from what it says now, else by what stands in for them."""
        memories.put(f"{E}/a", "First line\nsecond", jobs=[("summarize_abstract", {})])
        assert mem.store.layers.abstract(f"{E}/a") == "First line"
        job = mem.store.jobs.claim(["summarize_abstract"])
        assert mem.store.layers.store(job.id, job.uri, "abstract", "short").outcome == "stored"
        assert mem.store.layers.abstract(f"{E}/a") == "short"
        memories.put(f"{E}/a", "other", jobs=[("summarize_abstract", {})])
        assert mem.store.layers.abstract(f"{E}/a") == "other"
        stale = mem.store.jobs.claim(["summarize_abstract"])
        memories.put(f"{E}/a", "yet another")
        assert mem.store.layers.store(stale.id, stale.uri, "abstract", "of other").reason == "changed"

    def test_switched_off(self, mem, memories, documents):
        """A memory that is switched off isn't found in the tree, but still believed; so is what is put there later."""
        memories.put(f"{E}/a", "exact")
        mem.store.tags.set_enabled(E, False)
        memories.put(f"{E}/b", "exact too")
        memories.put(f"{E}/a", "near")
        assert mem.store.search.keyword("exact") == []
        assert not documents.get(f"{E}/b").enabled
        assert len(memories.recall()) == 2
        assert texts(mem.recall("q", tier="episodic", threshold=0.7)) == ["near"]
        mem.store.tags.set_enabled(E, True)
        assert len(mem.store.search.keyword("e")) == 2

    def test_by_vector(self, mem, memories):
        """Vector search finds what memories say now, candidates that are shown included, and no others."""
        memories.put(f"{E}/a", "far")
        memories.put(f"{E}/a", "exact")
        memories.put(f"{E}/a", "near", status="candidate")
        memories.put(f"{E}/b", "edge", status="candidate")
        found = mem.store.vectors.search(mem_vector("q"), 10)
        assert [(hit.uri, hit.content) for hit in found] == [(f"{E}/a", "exact"), (f"{E}/b", "edge")]
        memories.promote(f"{E}/a")
        mem.store.tags.set_enabled(f"{E}/b", False)
        found = mem.store.vectors.search(mem_vector("q"), 10)
        assert [(hit.uri, hit.content) for hit in found] == [(f"{E}/a", "near")]


def mem_vector(word):
    """The vector of a word, as bytes."""
    return TableEmbedder().vector(word).tobytes()


class TestRecall:
    def test_order(self, memories):
        """The most confident comes first, then the lower URI."""
        for name, confidence in (("c", 0.2), ("b", 0.9), ("d", 0.5), ("a", 0.5)):
            memories.put(f"{E}/{name}", name, confidence)
        assert texts(memories.recall()) == ["b", "a", "d", "c"]

    def test_prefix(self, memories):
        """A prefix is a URI or what lies below, by whole segments, of any type."""
        for name in ("events/p", "events/p/q", "events/p-old", "profile/p"):
            memories.put(f"{M}/{name}", name)
        assert texts(memories.recall(f"{E}/p")) == ["events/p", "events/p/q"]
        assert len(memories.recall("viking://")) == len(memories.recall()) == 4
        assert memories.recall("viking://resources") == []
        with pytest.raises(InvalidURI):
            memories.recall(f"{E}/")

    def test_other_memories(self, mem, memories):
        """What is no document isn't recalled here."""
        mem.remember(MemoryItem("plain", "episodic", id="viking://user/memories/a"))
        assert memories.recall("viking://") == []

    def test_statuses(self, memories):
        """Only those of the statuses that are named; none names nothing."""
        memories.put(f"{E}/a", "A")
        memories.put(f"{E}/a", "B")
        memories.put(f"{E}/a", "C", status="candidate")
        for status, value in (("active", "B"), ("superseded", "A"), ("candidate", "C")):
            assert texts(memories.recall(statuses=[status])) == [value]
        assert memories.recall(statuses=[]) == []
        assert memories.recall(term="A", statuses=[]) == []
        with pytest.raises(InvalidQuery):
            memories.recall(statuses=["old"])

    def test_source(self, memories):
        """Only what exactly that source said."""
        memories.put(f"{E}/a", "A", 0.5, "user")
        memories.put(f"{E}/b", "A b", 0.5, "user2")
        assert texts(memories.recall(source="user")) == ["A"]
        assert texts(memories.recall(term="a", source="user")) == ["A"]

    @pytest.mark.parametrize("term", [None, "x"])
    def test_bound(self, memories, term):
        """The answer says whether the bound left some out; a bound out of its range is refused."""
        for name in "ab":
            memories.put(f"{E}/{name}", f"x{name}")
        assert (len(memories.recall(term=term, top_k=1)), memories.recall(term=term, top_k=1).truncated) == (1, True)
        assert (len(memories.recall(term=term, top_k=2)), memories.recall(term=term, top_k=2).truncated) == (2, False)
        for wrong in (0, 501, True, "1"):
            with pytest.raises(InvalidLimit):
                memories.recall(term=term, top_k=wrong)

    def test_many(self, memories, mem):
        """More memories than are looked at in a step are all recalled."""
        mem.remember([MemoryItem(f"note {number}", id=f"{E}/{number:04}") for number in range(1100)])
        assert len(memories.recall(top_k=500)) == 500
        assert memories.recall(top_k=500).truncated
        assert texts(memories.recall(term="note 1099")) == ["note 1099"]


class TestTerm:
    def test_substring(self, memories):
        """A term is a literal substring of the value, upper and lower case alike in any script."""
        memories.put(f"{E}/a", "50% Straße")
        memories.put(f"{E}/b", "50 percent")
        assert texts(memories.recall(term="0%")) == ["50% Straße"]
        assert texts(memories.recall(term="STRASSE")) == ["50% Straße"]
        assert memories.recall(term="nothing") == []

    def test_a_shared_word(self, memories):
        """Where none has the term, those are found that share a word with it, in any script."""
        memories.put(f"{E}/a", "зелёный чай")
        memories.put(f"{E}/b", "green tea")
        assert texts(memories.recall(term="Чай утром")) == ["зелёный чай"]
        assert texts(memories.recall(term="tea time")) == ["green tea"]
        assert memories.recall(term="gre eat") == []

    def test_score(self, memories, embedder):
        """0.5 confidence + 0.5 (cosine + 1) / 2 + 0.15 for the term itself - 0.1 staleness puts them in order."""
        embedder.table |= {"x": embedder.table["q"], "x near": embedder.table["near"], "x neg": embedder.table["neg"]}
        memories.put(f"{E}/far", "x neg", 0.9)
        memories.put(f"{E}/near", "x near", 0.5)
        assert texts(memories.recall(term="x")) == ["x near", "x neg"]  # 0.75 and 0.5
        assert texts(memories.recall()) == ["x neg", "x near"]

    def test_staleness(self, memories, embedder):
        """What was shown lately comes before what was not for thirty days, or never."""
        embedder.table |= dict.fromkeys(("x a", "x b", "x c", "x"), embedder.table["q"])
        with frozen(NOON) as clock:
            for name in "abc":
                memories.put(f"{E}/{name}", f"x {name}")
            numbers = {each.text: each.number for each in memories.recall()}
            memories.mark_surfaced([numbers["x b"]])
            clock.tick(timedelta(days=15))
            memories.mark_surfaced([numbers["x c"]])
            assert texts(memories.recall(term="x")) == ["x c", "x b", "x a"]

    def test_ties(self, memories, embedder):
        """Of equal scores the more confident comes first, then the lower URI."""
        embedder.table |= {"x": [1, 0, 0], "x a": [0, 1, 0], "x b": [0, 1, 0], "x c": [0.4, 0.84**0.5, 0]}
        memories.put(f"{E}/b", "x b", 0.5)
        memories.put(f"{E}/a", "x a", 0.5)
        memories.put(f"{E}/c", "x c", 0.3)
        assert texts(memories.recall(term="x")) == ["x a", "x b", "x c"]

    def test_an_embedder_that_fails(self, memories, embedder, monkeypatch):
        """Without an embedding of the term they are in the order of confidence."""
        memories.put(f"{E}/a", "x a", 0.2)
        memories.put(f"{E}/b", "x b", 0.9)
        monkeypatch.setattr(embedder, "embed", lambda texts: 1 / 0)
        assert texts(memories.recall(term="x")) == ["x b", "x a"]

    def test_no_model_without_need(self, memories, embedder):
        """Nothing is embedded where no term is given, or nothing matches it."""
        memories.put(f"{E}/a", "x")
        embedder.calls.clear()
        memories.recall()
        memories.recall(term="y")
        memories.recall(term=" ")
        assert embedder.calls == []

    def test_counts_as_shown(self, memories):
        """What is found with a term counts as shown, after it was ranked; what is listed doesn't."""
        memories.put(f"{E}/a", "x a")
        memories.recall()
        assert memories.stats().never_surfaced == 1
        (found,) = memories.recall(term="x")
        assert found.surfaced_at is None
        memories.recall()
        assert memories.stats().never_surfaced == 0


class TestMarkSurfaced:
    def test_which(self, memories):
        """Those of the numbers that are named are marked, whatever their status; nothing else of them changes."""
        with frozen(NOON) as clock:
            memories.put(f"{E}/a", "A")
            memories.put(f"{E}/a", "B")
            memories.put(f"{E}/a", "C", status="candidate")
            memories.put(f"{E}/b", "D")
            before = memories.recall(statuses=EVERYTHING)
            clock.tick(timedelta(hours=1))
            memories.mark_surfaced([])
            memories.mark_surfaced([10**9])
            assert memories.recall(statuses=EVERYTHING) == before
            memories.mark_surfaced([each.number for each in before if each.text != "D"])
            after = memories.recall(statuses=EVERYTHING)
        assert {each.text: each.surfaced for each in after} == {"A": 1, "B": 1, "C": 1, "D": 0}
        assert {each.surfaced_at for each in after} == {None, NOON + timedelta(hours=1)}
        assert [each.updated_at for each in after] == [each.updated_at for each in before]

    def test_of_another_scope(self, mem, memories):
        """Numbers of another scope's memories are passed over."""
        mem.scoped("a").store.memories.put(f"{E}/a", "A")
        (other,) = mem.scoped("a").store.memories.recall()
        memories.mark_surfaced([other.number])
        assert mem.scoped("a").store.memories.recall()[0].surfaced == 0

    def test_not_a_number(self, memories):
        """What can't be a number is refused."""
        with pytest.raises(InvalidLimit):
            memories.mark_surfaced([-1])


class TestStats:
    def test_counts(self, mem, memories):
        """Memories are counted by type and status, with those that wait and those that were never shown."""
        mem.remember(MemoryItem("plain", "episodic"))
        memories.put(f"{E}/a", "A")
        memories.put(f"{E}/a", "B")
        memories.put(f"{M}/profile/a", "C")
        memories.put(f"{M}/entities/a", "D", status="candidate")
        memories.mark_surfaced([each.number for each in memories.recall(E)])
        counts = memories.stats()
        assert counts.by_type == {"events": 1, "profile": 1}
        assert counts.by_status == {"active": 2, "candidate": 1, "superseded": 1}
        assert (counts.pending_review, counts.never_surfaced) == (1, 1)

    def test_nothing(self, memories):
        """Where nothing is remembered every number is 0."""
        counts = memories.stats()
        assert (counts.by_type, set(counts.by_status.values()), counts.never_surfaced) == ({}, {0}, 0)

    def test_history_that_is_pruned(self, mem, memories):
        """History that was dropped isn't counted."""
        for value in "ABC":
            memories.put(f"{E}/a", value)
        mem.prune_history()
        assert memories.stats().by_status["superseded"] == 0


class TestConflicts:
    def test_pairs(self, memories, embedder):
        """Near-identical active memories of one type are a pair, the lower URI first; of two types they aren't."""
        embedder.table |= {"q2": [0.99, 0.141067, 0]}
        memories.put(f"{M}/profile/b", "exact")
        memories.put(f"{M}/profile/a", "q2")
        memories.put(f"{M}/entities/a", "exact")
        memories.put(f"{M}/profile/far", "far")
        memories.put(f"{M}/profile/c", "neg")
        memories.put(f"{M}/profile/c", "exact", status="candidate")
        (pair,) = memories.conflicts()
        assert (pair.a.id, pair.b.id) == (f"{M}/profile/a", f"{M}/profile/b")
        assert pair.similarity == pytest.approx(0.99, abs=1e-4)
        assert len(memories.conflicts(threshold=0.55)) == 3

    def test_too_few(self, memories):
        """With fewer than two memories nothing can be said."""
        for _ in range(2):
            with pytest.raises(EmbeddingsUnavailable):
                memories.conflicts()
            memories.put(f"{E}/a", "exact")
        memories.put(f"{M}/profile/a", "exact")
        with pytest.raises(EmbeddingsUnavailable):
            memories.conflicts(E)
        assert memories.conflicts() == []

    def test_kept_both(self, mem, memories):
        """A pair that is kept isn't reported again."""
        memories.put(f"{E}/a", "exact")
        memories.put(f"{E}/b", "q")
        (pair,) = memories.conflicts()
        mem.resolve(pair, "both")
        assert memories.conflicts() == []

    def test_threshold(self, memories):
        """A threshold that is no cosine is refused."""
        with pytest.raises(InvalidQuery):
            memories.conflicts(threshold=2)


class TestTypes:
    def test_of_ones_own(self, open_memory):
        """Types and their tiers can be set."""
        mem = open_memory(memory_types={"dreams": "semantic"})
        assert mem.remember(MemoryItem("A", id=f"{M}/dreams/a"))[0].tier == "semantic"
        assert content(mem.store.documents, f"{M}/dreams/a") == "A"
        with pytest.raises(InvalidMemoryType):
            mem.store.memories.put(f"{E}/a", "x")
        mem.clear()

    def test_a_type_that_moves(self, open_memory, redis_url, namespace):
        """Where a type goes to another tier from now on, its document shows what is remembered there."""
        before = open_memory()
        before.store.memories.put(f"{E}/a", "A")
        after = open_memory(memory_types={"events": "semantic"})
        after.store.memories.put(f"{E}/a", "B")
        before.forget(f"{E}/a", "episodic")
        assert content(after.store.documents, f"{E}/a") == "B"
        after.store.memories.forget(f"{E}/a")
        assert after.store.documents.count() == 0

    @pytest.mark.parametrize("types", [{"": "semantic"}, {"a/b": "semantic"}, {"a": 1}, "events", {"a": "working"}])
    def test_wrong_ones(self, open_memory, types):
        """A type is a name, and its tier one that is searched."""
        with pytest.raises(ConfigError):
            open_memory(memory_types=types)

    def test_a_tier_that_is_off(self, open_memory):
        """Types of a tier that is switched off can't be put."""
        mem = open_memory(episodic=None)
        with pytest.raises(UnknownTier):
            mem.store.memories.put(f"{E}/a", "x")
        assert MemoryConfig().memory_types["events"] == "episodic"
