"""Commits: a session becomes a document, in one step with its jobs and the record of it."""

from __future__ import annotations

from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shorthand import NOON, frozen
from snapshots import snapshot
from stores import store_of

from tiered_memory import CorruptRecord, InvalidInput, SessionNotFound, TooLarge, memory
from tiered_memory.errors import InvalidURI, IsRoot, KindConflict
from tiered_memory.store import Commit
from tiered_memory.store.commits import JOBS

DEST = "viking://user/ada/talk"
TALK = (("user", "Tea?"), ("assistant", "Yes,\nplease."))


@pytest.fixture
def store(mem):
    """The store of the unscoped pool, with a session of two messages."""
    store = store_of(mem)
    store.sessions.restore("s", TALK)
    return store


class TestCommit:
    def test_document(self, store):
        """A session is written out as `role: content`, with blank lines between, and hashed by its lines."""
        wanted = sha256(b"user: Tea?\nassistant: Yes,\nplease.").hexdigest()
        assert store.sessions.commit("s", DEST) == Commit(DEST, wanted, "committed")
        assert store.documents.get(DEST).content == "user: Tea?\n\nassistant: Yes,\nplease."
        assert store.commits.hash("s", DEST) == wanted

    def test_searchable(self, store):
        """A committed document is one as any other: listed, found, and with jobs to embed and to summarise it."""
        store.sessions.commit("s", DEST)
        node = store.documents.get(DEST)
        assert (node.kind, node.enabled) == ("doc", True)
        assert store.documents.count("viking://user") == 1
        assert [hit.uri for hit in store.search.keyword("PLEASE")] == [DEST]
        assert store.jobs.count(DEST, ["pending"]) == len(JOBS)
        claimed = [store.jobs.claim([kind]) for kind in JOBS]
        assert {(job.payload["uri"], job.payload["content_hash"]) for job in claimed} == {(DEST, node.content_hash)}

    def test_unchanged(self, store, client, namespace):
        """What the document holds already isn't written again, and nothing else is done."""
        first = store.sessions.commit("s", DEST)
        before = snapshot(client, namespace)
        assert store.sessions.commit("s", DEST) == Commit(DEST, first.hash, "unchanged")
        assert snapshot(client, namespace) == before

    def test_changed_session(self, store):
        """A session that went on is committed anew."""
        first = store.sessions.commit("s", DEST)
        store.sessions.append("s", "user", "More.")
        again = store.sessions.commit("s", DEST)
        assert (again.outcome, again.hash != first.hash) == ("committed", True)
        assert store.documents.get(DEST).content.endswith("\n\nuser: More.")

    def test_changed_document(self, store):
        """When the document was rewritten since, the session is committed again."""
        store.sessions.commit("s", DEST)
        store.documents.put(DEST, "other")
        assert store.sessions.commit("s", DEST).outcome == "committed"
        assert store.documents.get(DEST).content.startswith("user: Tea?")

    @pytest.mark.parametrize("above", [DEST, "viking://user/ada", "viking://user"])
    def test_removed_document(self, store, above):
        """When the document was removed, alone or with what is above, so is the record; committing restores both."""
        store.sessions.commit("s", DEST)
        store.documents.remove(above)
        assert store.commits.hash("s", DEST) is None
        assert store.sessions.commit("s", DEST).outcome == "committed"
        assert store.documents.get(DEST) is not None

    def test_siblings_stay(self, store):
        """Removing a document leaves the commits to others whose URIs begin alike."""
        for dest in (DEST, f"{DEST}-old", f"{DEST}/below"):
            store.sessions.commit("s", dest)
        store.documents.remove(DEST)
        assert [store.commits.hash("s", dest) is None for dest in (DEST, f"{DEST}-old", f"{DEST}/below")] == [
            True, False, True,
        ]  # fmt: skip

    def test_empty_session(self, store):
        """A session without messages becomes an empty document."""
        id_ = store.sessions.create()
        assert store.sessions.commit(id_, DEST).outcome == "committed"
        assert store.documents.get(DEST).content == ""
        assert store.sessions.commit(id_, DEST).outcome == "unchanged"

    def test_refused(self, store, client, namespace):
        """A session that isn't there, a destination that is none, and a directory are refused; nothing is written."""
        store.documents.put("viking://resources/a/b", "text")
        before = snapshot(client, namespace)
        for id_, dest, error in (
            ("nobody", DEST, SessionNotFound),
            ("s", "viking://", IsRoot),
            ("s", "viking://a/", InvalidURI),
            ("s", "viking://resources/a", KindConflict),
        ):
            with pytest.raises(error):
                store.sessions.commit(id_, dest)
        assert snapshot(client, namespace) == before

    def test_too_long(self, store):
        """A session that is longer than a document may be is refused by that."""
        for _ in range(11):
            store.sessions.append("s", "user", "x" * 1024 * 1024)
        with pytest.raises(TooLarge):
            store.sessions.commit("s", DEST)


class TestPut:
    def test_independent_pairs(self, store):
        """Each pair of session and destination has a record of its own, whatever is known of the session."""
        assert store.commits.put("s1", DEST, "h", "text") == Commit(DEST, "h", "committed")
        assert (store.commits.hash("s1", DEST), store.commits.hash("s2", DEST)) == ("h", None)
        store.commits.put("s2", DEST, "i", "other")
        store.commits.put("s1", f"{DEST}2", "j", "third")
        assert [store.commits.hash(id_, DEST) for id_ in ("s1", "s2")] == ["h", "i"]
        assert store.documents.get(DEST).content == "other"

    def test_again(self, store):
        """A later commit of the same pair has the one record there is."""
        for hash_ in ("h", "h", "g", "é"):
            store.commits.put("s1", DEST, hash_, "text")
        assert store.commits.hash("s1", DEST) == "é"

    @pytest.mark.parametrize("hash_", ["", "a\0b", "x" * 256, 7, None])
    def test_refused(self, store, hash_):
        """A hash that is empty, too long, or has control characters is refused."""
        with pytest.raises(InvalidInput):
            store.commits.put("s", DEST, hash_, "text")
        assert store.documents.get(DEST) is None

    def test_scopes(self, mem):
        """Each scope has commits of its own."""
        a, b = (store_of(mem.scoped(scope)) for scope in ("a", "b"))
        a.commits.put("s", DEST, "h", "text")
        assert b.commits.hash("s", DEST) is None


class TestModel:
    URIS = ("viking://a", "viking://a/b", "viking://a/b/c", "viking://a-b", "viking://a0")
    IDS = ("s", "s/", "t")

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        steps=st.lists(
            st.tuples(st.sampled_from(["put", "remove", "forget"]), st.sampled_from(IDS), st.sampled_from(URIS)),
            max_size=12,
        )
    )
    def test_a_dictionary(self, redis_url, namespace, embedder, client, steps):
        """Whatever is committed and removed, the records are those that a dictionary would have."""
        model: dict[tuple[str, str], str] = {}
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            store = store_of(mem)
            for number, (kind, id_, uri) in enumerate(steps):
                if kind == "put":
                    self._put(store, model, id_, uri, str(number))
                elif kind == "remove":
                    if store.documents.get(uri) is not None:
                        store.documents.remove(uri)
                    model = {key: each for key, each in model.items() if not f"{key[1]}/".startswith(f"{uri}/")}
                else:
                    store.sessions.restore(id_, [])
                    store.sessions.remove(id_)
                    model = {key: each for key, each in model.items() if key[0] != id_}
                found = {(id_, uri): store.commits.hash(id_, uri) for id_ in self.IDS for uri in self.URIS}
                assert {key: each for key, each in found.items() if each is not None} == model
            for uri in self.URIS:
                if store.documents.get(uri) is not None:
                    store.documents.remove(uri)
            assert not [key for key in client.scan_iter(f"{{{namespace}:*") if b":commits:" in key]

    def _put(self, store, model, id_, uri, hash_):
        try:
            store.commits.put(id_, uri, hash_, "text")
        except KindConflict:
            assert any(each.startswith(f"{uri}/") for each in self.URIS)
        else:
            model[id_, uri] = hash_


class TestRemovedSession:
    def test_document_stays(self, store):
        """Removing a session takes the records of its commits, not the documents."""
        store.sessions.commit("s", DEST)
        store.commits.put("other", DEST, "h", store.documents.get(DEST).content)
        store.sessions.remove("s")
        assert (store.commits.hash("s", DEST), store.commits.hash("other", DEST)) == (None, "h")
        assert store.documents.get(DEST) is not None

    def test_nothing_is_left(self, store, mem, client, namespace):
        """When session and document are gone, nothing of the commit is left."""
        store.sessions.commit("s", DEST)
        store.sessions.remove("s")
        store.documents.remove("viking://user")
        assert not [key for key in client.scan_iter(f"{{{namespace}:*") if b":commits:" in key or b":session" in key]


class TestFaults:
    @pytest.mark.parametrize(
        "kind",
        ["commits", "documents", "directories", "enabled", "marked", "nodes", "scopes", "holding", "sequence",
         "job_sequence", "job_kinds", "job_turns"],
    )  # fmt: skip
    @pytest.mark.parametrize("call", ["commit", "put", "remove"])
    def test_wrong_type(self, mem, store, client, namespace, kind, call):
        """A key of another type is refused before document, jobs or record are written, whichever it is."""
        store.sessions.commit("s", DEST)
        store.sessions.append("s", "user", "More.")
        token = store._runner._keyspace.of(None).token("tree")
        shared = kind in ("scopes", "holding", "sequence", "job_sequence", "job_kinds", "job_turns")
        key = f"{{{namespace}:0}}:{kind}" + ("" if shared else f":{token}")
        client.delete(key)
        client.lpush(key, "junk")
        before = snapshot(client, namespace)
        calls = {
            "commit": lambda: store.sessions.commit("s", DEST),
            "put": lambda: store.commits.put("s", "viking://new/one", "h", "text"),
            "remove": lambda: store.documents.remove(DEST),
        }
        with pytest.raises(CorruptRecord):
            calls[call]()
        assert snapshot(client, namespace) == before

    def test_times(self, store):
        """A document that is committed again keeps the time at which it was created."""
        with frozen() as clock:
            store.sessions.commit("s", DEST)
            clock.tick(60)
            store.sessions.append("s", "user", "More.")
            store.sessions.commit("s", DEST)
        node = store.documents.get(DEST)
        assert (node.created_at, (node.updated_at - NOON).total_seconds()) == (NOON, 60)
