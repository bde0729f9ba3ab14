"""Sessions: messages in order, pages, restoring, and what a model is given of a conversation."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processes import run_together
from shorthand import NOON, frozen
from snapshots import snapshot
from stores import store_of

from tiered_memory import (
    ConfigError,
    CorruptRecord,
    InvalidInput,
    InvalidLimit,
    InvalidQuery,
    SessionConflict,
    SessionNotFound,
    StoreError,
    TooLarge,
    memory,
)
from tiered_memory.engine import scripts
from tiered_memory.plan import ask, opened
from tiered_memory.store.context import SessionContext
from tiered_memory.store.messages import MAX_CONTENT_BYTES, Message, Restore
from tiered_memory.store.sessions import Sessions
from tiered_memory.tokens import TokenCounter

WORDS = TokenCounter("cl100k_base", "callable", lambda text: len(text.split()))
"""Counts words; the role is one of them."""


def sessions_of(mem: Any) -> Any:
    """The sessions of a handle, in its mode."""
    return store_of(mem).sessions


@pytest.fixture
def sessions(mem):
    """The sessions of the unscoped pool."""
    return sessions_of(mem)


def said(page: Any) -> list[tuple[int, str, str]]:
    """Number, role and content of messages."""
    return [(each.seq, each.role, each.content) for each in page.items]


class TestAppend:
    def test_order(self, sessions):
        """Messages are numbered from 0 in the order in which they were appended, each with its time."""
        id_ = sessions.create()
        with frozen() as clock:
            first = sessions.append(id_, "user", "a")
            clock.tick(1)
            sessions.append(id_, "assistant", "b")
        assert first == Message(0, "user", "a", NOON)
        page = sessions.messages(id_)
        assert (said(page), page.cursor) == ([(0, "user", "a"), (1, "assistant", "b")], None)
        assert [(each.at - NOON).total_seconds() for each in page.items] == [0, 1]

    def test_new(self, sessions):
        """A new session has an id of 32 lower-case hexadecimal digits, and no messages."""
        id_ = sessions.create()
        assert len(id_) == 32
        assert int(id_, 16) >= 0
        assert id_ == id_.lower() != sessions.create()
        assert sessions.messages(id_).items == []

    @pytest.mark.parametrize("role", ["tool", "Système", "a b", "user:admin"])
    def test_roles(self, sessions, role):
        """A role is any word, and comes back as it was given."""
        id_ = sessions.create()
        sessions.append(id_, role, "")
        assert said(sessions.messages(id_)) == [(0, role, "")]

    @pytest.mark.parametrize(
        "content", ["", "a\nb: c\n\n", "\0\x1b[0m", "\N{GRINNING FACE}" * 100, "x" * MAX_CONTENT_BYTES]
    )
    def test_content(self, sessions, content):
        """Content comes back as it was given, whatever is in it."""
        id_ = sessions.create()
        sessions.append(id_, "user", content)
        (message,) = sessions.messages(id_).items
        assert message.content == content

    @pytest.mark.parametrize(
        ("role", "content", "error"),
        [
            ("", "a", InvalidInput),
            ("a\nb", "a", InvalidInput),
            ("x" * 65, "a", InvalidInput),
            (1, "a", InvalidInput),
            ("user", None, InvalidInput),
            ("user", "\ud800", InvalidInput),
            ("user", "x" * (MAX_CONTENT_BYTES + 1), TooLarge),
        ],
    )
    def test_refused(self, sessions, role, content, error):
        """A role or a content that is out of its limits is refused."""
        id_ = sessions.create()
        with pytest.raises(error):
            sessions.append(id_, role, content)
        assert sessions.messages(id_).items == []

    @pytest.mark.parametrize("call", ["append", "messages", "context", "remove"])
    def test_unknown(self, sessions, client, namespace, call):
        """A session that isn't there is an error, and isn't made by it."""
        arguments = {"append": ("user", "a"), "context": (10,)}.get(call, ())
        with pytest.raises(SessionNotFound, match="'nobody'"):
            getattr(sessions, call)("nobody", *arguments)
        assert sessions.ids().items == []

    @pytest.mark.parametrize("id_", ["", "a\0b", "x" * 256, 7, None])
    def test_bad_id(self, sessions, id_):
        """An id that is empty, too long, or has control characters is refused."""
        for call in (lambda: sessions.messages(id_), lambda: sessions.restore(id_, []), lambda: sessions.remove(id_)):
            with pytest.raises(InvalidInput):
                call()

    def test_concurrent_writers(self, redis_url, namespace, embedder):
        """Processes that append at the same time lose nothing, and each one's own order is kept."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            sessions = Sessions(mem)
            sessions.restore("shared", [])
            run_together("append_to_one_session", 8, redis_url, namespace)
            messages = sessions.messages("shared", limit=1000).items
        assert [message.seq for message in messages] == list(range(8 * 50))
        for number in range(8):
            own = [message.content for message in messages if message.role == str(number)]
            assert own == [str(each) for each in range(50)]


class TestPages:
    def test_messages(self, sessions):
        """Pages of messages follow each other without gaps, also while more are appended."""
        sessions.restore("a", [("user", str(number)) for number in range(5)])
        page = sessions.messages("a", limit=2)
        assert (said(page), page.cursor) == ([(0, "user", "0"), (1, "user", "1")], "2")
        sessions.append("a", "user", "5")
        found = []
        while page.cursor:
            page = sessions.messages("a", limit=2, cursor=page.cursor)
            found += [each.seq for each in page.items]
        assert found == [2, 3, 4, 5]

    def test_ids(self, sessions):
        """Ids are listed in the order of their bytes, in pages."""
        for id_ in ("b", "B", "é", "a", "a/b"):
            sessions.restore(id_, [])
        page = sessions.ids(limit=2)
        found = [page.items]
        while page.cursor:
            page = sessions.ids(limit=2, cursor=page.cursor)
            found.append(page.items)
        assert found == [["B", "a"], ["a/b", "b"], ["é"]]

    def test_refused(self, sessions):
        """A limit below 1 and a cursor that no page gave are refused."""
        sessions.restore("a", [])
        with pytest.raises(InvalidLimit):
            sessions.messages("a", limit=0)
        with pytest.raises(InvalidQuery):
            sessions.messages("a", cursor="x")
        with pytest.raises(InvalidLimit):
            sessions.ids(limit=True)


class TestScopes:
    def test_apart(self, mem):
        """Each scope has sessions of its own, also under the same id."""
        pool, a, b = (sessions_of(each) for each in (mem, mem.scoped("a"), mem.scoped("b")))
        a.restore("s", [("user", "of a")])
        b.restore("s", [("user", "of b")])
        assert pool.ids().items == []
        assert said(a.messages("s")) == [(0, "user", "of a")]
        a.remove("s")
        assert (a.ids().items, b.ids().items) == ([], ["s"])

    def test_listed(self, mem):
        """A scope is listed as long as it has a session."""
        sessions = sessions_of(mem.scoped("a"))
        id_ = sessions.create()
        assert mem.scopes().items == ["a"]
        sessions.append(id_, "user", "a")
        sessions.append(id_, "user", "b")
        assert sessions.remove(id_) == 2
        assert mem.scopes().items == []


class TestRestore:
    MESSAGES = (("user", "a"), ("assistant", "b"))

    def test_absent(self, sessions):
        """An absent session is created with its messages, numbered from 0."""
        assert sessions.restore("s", self.MESSAGES) == Restore("s", "imported", 2)
        assert said(sessions.messages("s")) == [(0, "user", "a"), (1, "assistant", "b")]

    def test_empty(self, sessions):
        """A session without messages is created too, and an empty one is filled."""
        assert sessions.restore("s", []).outcome == "imported"
        assert sessions.ids().items == ["s"]
        assert sessions.restore("s", []).outcome == "skipped"
        assert sessions.restore("s", self.MESSAGES).outcome == "imported"

    def test_equal(self, sessions):
        """The same roles and contents in the same order are skipped, whatever their times."""
        sessions.restore("s", self.MESSAGES)
        before = sessions.messages("s").items
        assert sessions.restore("s", self.MESSAGES) == Restore("s", "skipped", 2)
        assert sessions.messages("s").items == before

    @pytest.mark.parametrize(
        "other",
        [
            [],
            [("user", "a")],
            [("user", "a"), ("assistant", "b"), ("user", "c")],
            [("user", "a"), ("assistant", "B")],
            [("user", "a"), ("user", "b")],
            [("assistant", "b"), ("user", "a")],
        ],
    )
    def test_different(self, sessions, other):
        """Other messages, or more or fewer, are a conflict, and the session stays as it is."""
        sessions.restore("s", self.MESSAGES)
        with pytest.raises(SessionConflict, match="'s'"):
            sessions.restore("s", other)
        assert said(sessions.messages("s")) == [(0, "user", "a"), (1, "assistant", "b")]

    def test_times(self, sessions):
        """The times of messages that have one are kept."""
        with frozen():
            sessions.restore("s", [("user", "a")])
        copy = sessions.messages("s").items
        sessions.restore("t", copy)
        assert sessions.messages("t").items == copy

    @pytest.mark.parametrize("messages", ["text", 7, [("user",)], ["ab"], [("user", "a", "b")], [("user", 1)], [None]])
    def test_refused(self, sessions, messages):
        """What is no list of messages is refused, with the place of the first that is none; nothing is made."""
        with pytest.raises(InvalidInput, match="message"):
            sessions.restore("s", messages)
        assert sessions.ids().items == []

    def test_many(self, sessions):
        """A long session is restored in one step."""
        messages = [("user", str(number)) for number in range(20_000)]
        assert sessions.restore("s", messages).messages == 20_000
        assert sessions.messages("s", cursor="19999").items[0].content == "19999"

    @settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        stored=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=3),
        restored=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=3),
    )
    def test_model(self, redis_url, namespace, embedder, stored, restored):
        """Any restore over any session imports, skips or conflicts as comparing two lists says."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            sessions = Sessions(mem)
            sessions.restore("s", stored)
            expected = "skipped" if stored == restored else "imported" if not stored else "conflict"
            try:
                outcome = sessions.restore("s", restored).outcome
            except SessionConflict:
                outcome = "conflict"
            left = [(each.role, each.content) for each in sessions.messages("s").items]
            sessions.remove("s")
        assert (outcome, left) == (expected, restored if expected == "imported" else stored)


class TestContext:
    @pytest.fixture
    def talk(self, sessions):
        """A session of six messages of three words each, with the role."""
        sessions.restore("s", [("user", f"message {number}") for number in range(6)])
        return sessions

    def test_all(self, talk):
        """What fits whole is given whole, the oldest message first."""
        context = talk.context("s", 18, counter=WORDS)
        assert [message.seq for message in context.messages] == [0, 1, 2, 3, 4, 5]
        assert (context.summary, context.left_out, context.tokens) == (None, 0, 18)

    def test_newest(self, talk):
        """Of a longer session the newest messages are given, without a gap, and how many were left out."""
        context = talk.context("s", 17, counter=WORDS)
        assert [message.seq for message in context.messages] == [1, 2, 3, 4, 5]
        assert (context.left_out, context.tokens) == (1, 15)

    def test_no_gap(self, talk):
        """A message that is too long ends it: what is older isn't given either."""
        talk.append("s", "user", "word " * 100)
        talk.append("s", "user", "last one")
        context = talk.context("s", 20, counter=WORDS)
        assert [message.content for message in context.messages] == ["last one"]
        assert talk.context("s", 1, counter=WORDS) == SessionContext([], None, 8, 0)

    def test_long(self, sessions):
        """Only as much of a session is read as fits, through any number of pages."""
        sessions.restore("s", [("user", str(number)) for number in range(1000)])
        context = sessions.context("s", 2 * 350, counter=WORDS)
        assert [message.seq for message in context.messages] == list(range(650, 1000))

    def test_summary(self, talk):
        """With a summariser a quarter of the tokens is for a summary of what is left out, cut to that."""
        texts = []

        def summarise(text):
            texts.append(text)
            return "one two three four five six"

        context = talk.context("s", 16, counter=WORDS, summarise=summarise)
        assert texts == ["user: message 0\n\nuser: message 1"]
        assert [message.seq for message in context.messages] == [2, 3, 4, 5]
        assert (context.summary.split(), context.left_out) == (["one", "two", "three", "four"], 2)
        assert context.tokens == 16

    def test_bounded_summary(self, sessions):
        """Of a very long session the last thousand messages that were left out are summarised."""
        sessions.restore("s", [("user", str(number)) for number in range(3000)])
        texts = []
        context = sessions.context("s", 16, counter=WORDS, summarise=lambda text: texts.append(text) or "short")
        assert (len(context.messages), context.left_out) == (6, 2994)
        assert texts[0].split("\n\n") == [f"user: {number}" for number in range(1994, 2994)]

    def test_no_need(self, talk):
        """The summariser isn't asked when everything fits."""
        assert talk.context("s", 18, counter=WORDS, summarise=pytest.fail).summary is None

    def test_summariser_fails(self, talk):
        """A summariser that fails, or gives no text, is an error that quotes nothing of the session."""
        with pytest.raises(StoreError, match="ZeroDivisionError"):
            talk.context("s", 9, counter=WORDS, summarise=lambda text: 1 / 0)
        with pytest.raises(StoreError, match="int"):
            talk.context("s", 9, counter=WORDS, summarise=lambda text: 7)

    def test_async_summariser(self, talk, mode):
        """An async summariser is awaited by an async handle, and refused by a blocking one."""

        async def summarise(text):
            return "short"

        if mode == "async":
            assert talk.context("s", 9, counter=WORDS, summarise=summarise).summary == "short"
        else:
            with pytest.raises(ConfigError):
                talk.context("s", 9, counter=WORDS, summarise=summarise)

    def test_own_counter(self, talk):
        """Without a counter the best one of the machine is used."""
        assert len(talk.context("s", 1000).messages) == 6
        with pytest.raises(InvalidLimit):
            talk.context("s", 0)


class TestClear:
    def test_step_by_step(self, redis_url, namespace, embedder, client):
        """A scope's sessions and commits are cleared in steps; those of other scopes stay, and nothing else is left."""
        with memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            for scope in ("a", "b"):
                store = store_of(mem.scoped(scope))
                for number in range(5):
                    store.sessions.restore(str(number), [("user", "a")])
                store.commits.put("0", "viking://x", "h", "text")
            assert mem._runner.run(self._clear("a")) == 3
            left = store_of(mem.scoped("a"))
            assert (left.sessions.ids().items, left.commits.hash("0", "viking://x")) == ([], None)
            assert len(store.sessions.ids().items) == 5
            token = mem._runner._keyspace.of("a").token("tree").encode()
            kinds = {key.split(b":")[2] for key in snapshot(client, namespace) if token in key}
            assert kinds.isdisjoint({b"sessions", b"session", b"commits"})

    def _clear(self, scope: str) -> Any:
        keys = (yield from opened()).of(scope)
        steps, more = 0, True
        while more:
            (more,) = yield from ask(scripts.call("sessions_clear", keys.scopes, (keys.member, keys.token("tree"), 2)))
            steps += 1
        return steps


class TestFaults:
    @pytest.mark.parametrize("kind", ["sessions", "session", "commits", "scopes", "holding"])
    @pytest.mark.parametrize("call", ["create", "append", "restore", "new", "remove"])
    def test_wrong_type(self, mem, sessions, client, namespace, kind, call):
        """A key of another type is refused before anything is written, whichever it is."""
        mem.count()
        sessions.restore("s", [])
        token = sessions._runner._keyspace.of(None).token("tree")
        name = {"sessions": f"sessions:{token}", "session": f"session:{token}:s", "commits": f"commits:{token}"}
        key = f"{{{namespace}:0}}:{name.get(kind, kind)}"
        client.delete(key)
        client.set(key, "junk")
        before = snapshot(client, namespace)
        calls = {
            "create": sessions.create,
            "append": lambda: sessions.append("s", "user", "a"),
            "restore": lambda: sessions.restore("s", [("user", "a")]),
            "new": lambda: sessions.restore("s" if kind == "session" else "t", [("user", "a")]),
            "remove": lambda: sessions.remove("s"),
        }
        if kind == "session" and call == "create":
            pytest.skip("a new session has a key of its own")
        with pytest.raises(CorruptRecord):
            calls[call]()
        assert snapshot(client, namespace) == before

    @pytest.mark.parametrize("value", [b"", b"junk", b"\xc1", b"\x93\x01\x02\x03", b"\x81\xa4role\xa1a"])
    def test_wrong_message(self, sessions, client, namespace, value):
        """A message that isn't as we wrote it is said to be corrupt."""
        sessions.restore("s", [])
        token = sessions._runner._keyspace.of(None).token("tree")
        client.rpush(f"{{{namespace}:0}}:session:{token}:s", value)
        with pytest.raises(CorruptRecord):
            sessions.messages("s")
        with pytest.raises((CorruptRecord, SessionConflict)):
            sessions.restore("s", [("a", "b")])
        assert sessions.remove("s") == 1
