"""The hooks of an orchestrator: what a turn sees, what is remembered of it, and that no fault loses a reply."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager

import pytest
from embedders_for_tests import VECTORS, TableEmbedder
from redis import Redis
from servers import redis_server

from tiered_memory import (
    AsyncMemory,
    ConfigError,
    EmbeddingError,
    InvalidQuery,
    InvalidScope,
    MemoryItem,
    StoreUnavailable,
    UnknownTier,
    async_memory,
    clock,
)
from tiered_memory.hooks import AsyncTurnHooks, TurnHooks
from tiered_memory.prompt import format_memories
from tiered_memory.retries import MAX_TRIES
from tiered_memory.tokens import counter

TURNS = {
    "my email is a@x": [1, 0, 0],
    "my email is a@x\nnoted": [1, 0, 0],
    "what is my email?": [0.9, 0.43588989, 0],
}


class FragileEmbedder(TableEmbedder):
    """Fails for the texts that it refuses."""

    refused = ()

    def embed(self, texts):
        if any(refused in text for refused in self.refused for text in texts):
            raise ConnectionError(f"can't embed {texts}")
        return super().embed(texts)


@pytest.fixture
def embedder():
    return FragileEmbedder(VECTORS | TURNS)


@pytest.fixture
def make_hooks(mode):
    """Makes hooks in the test's mode."""

    def make(mem, **settings):
        if mode == "blocking":
            return TurnHooks(mem, **settings)
        return type(mem)(AsyncTurnHooks(mem._handle, **settings), mem._loop)

    return make


@pytest.fixture
def hooks(make_hooks, mem):
    return make_hooks(mem)


def in_turn(hooks, session, text, body, context=None):
    """Runs `body` inside a turn of hooks of either mode."""
    if isinstance(hooks, TurnHooks):
        with hooks.turn(session, text, context) as turn:
            body(turn)
        return

    async def run():
        async with hooks._handle.turn(session, text, context) as turn:
            body(turn)

    hooks._loop.run_until_complete(run())


def texts(mem, scope, tier="semantic"):
    """All that a tier of a scope holds."""
    handle = mem if scope is None else mem.scoped(scope)
    return [memory.text for memory in handle.list(tier).items]


@contextmanager
def refusing_writes(url):
    """A server that has no memory left for writes."""
    with Redis.from_url(url) as client:
        client.config_set("maxmemory", 1)
        try:
            yield
        finally:
            client.config_set("maxmemory", 0)


class TestSessions:
    def test_apart(self, hooks, mem):
        """A turn sees what its own session said before, and nothing of another session or for no session."""
        seen = []
        for session, text in [("a", "my email is a@x"), ("b", "my email is a@x"), ("a", "what is my email?")]:
            context = hooks.before_turn(session, text)
            hooks.after_turn(session, text, "noted")
            seen.append([hit.text for hit in context.get("memories", [])])
        assert seen == [[], [], ["my email is a@x\nnoted"]]
        assert mem.recall("what is my email?") == []

    def test_named_scope(self, hooks, mem):
        """A session's turns lie in the scope `session:<id>`."""
        hooks.after_turn("a", "what units?", "ans")
        assert texts(mem, "session:a") == ["what units?\nans"]

    def test_shared(self, make_hooks, mem):
        """With `shared`, all sessions share the unscoped pool."""
        hooks = make_hooks(mem, scope="shared")
        hooks.after_turn("a", "my email is a@x", "noted")
        assert texts(mem, None) == ["my email is a@x\nnoted"]
        assert len(hooks.before_turn("b", "what is my email?")["memories"]) == 1

    def test_function(self, make_hooks, mem):
        """With a function, a turn lies in the scope that it gives for the session's id."""
        hooks = make_hooks(mem, scope=lambda session: f"user:{session[0]}")
        hooks.after_turn("a1", "my email is a@x", "noted")
        assert texts(mem, "user:a") == ["my email is a@x\nnoted"]
        assert len(hooks.before_turn("a2", "what is my email?")["memories"]) == 1
        assert hooks.before_turn("b1", "what is my email?") == {}

    @pytest.mark.parametrize("scope", [None, "", 7])
    def test_function_without_scope(self, make_hooks, mem, scope):
        """A function that gives no scope is refused, before and after a turn and at the end of a session."""
        hooks = make_hooks(mem, scope=lambda session: scope)
        for hook, arguments in [("before_turn", "aq"), ("after_turn", "aqr"), ("end_session", "a")]:
            with pytest.raises(InvalidScope):
                getattr(hooks, hook)(*arguments)
        assert mem.count() == 0

    @pytest.mark.parametrize("session", ["", None, 7])
    @pytest.mark.parametrize("scope", ["session", "shared", lambda session: "user:1"])
    def test_missing_session(self, make_hooks, mem, session, scope):
        """A missing session id is refused, whatever scopes are made of it."""
        hooks = make_hooks(mem, scope=scope)
        with pytest.raises(InvalidScope, match="session_id"):
            hooks.before_turn(session, "q")
        with pytest.raises(InvalidScope, match="session_id"):
            hooks.after_turn(session, "q", "r")


class TestBeforeTurn:
    def test_copy(self, hooks, mem):
        """The hits are put into a copy of the context, and the caller's stays as it was."""
        mem.scoped("session:a").remember("exact")
        context = {"user": "ada"}
        given = hooks.before_turn("a", "q", context)
        assert given["user"] == "ada"
        assert [hit.text for hit in given["memories"]] == ["exact"]
        assert context == {"user": "ada"}

    def test_no_hits(self, hooks):
        """Without a hit the context equals the caller's, and is a copy still."""
        context = {"user": "ada"}
        given = hooks.before_turn("a", "q", context)
        assert given == context
        assert given is not context

    def test_key(self, make_hooks, mem):
        """The hits are put at the key that the settings name."""
        mem.scoped("session:a").remember("exact")
        assert list(make_hooks(mem, inject_key="recalled").before_turn("a", "q")) == ["recalled"]

    def test_settings(self, make_hooks, mem):
        """The number of hits, the threshold and the tiers are those of the settings."""
        session = mem.scoped("session:a")
        session.remember(["exact", "near", "far"])
        session.remember("note", tier="working")
        hooks = make_hooks(mem, k=2, threshold=0.5, tiers="semantic")
        assert [hit.text for hit in hooks.before_turn("a", "q")["memories"]] == ["exact", "near"]
        hooks = make_hooks(mem, threshold=0.5, tiers=["semantic"])
        assert [hit.text for hit in hooks.before_turn("a", "q")["memories"]] == ["exact", "near", "far"]

    def test_budget(self, make_hooks, mem):
        """Of the hits those are given whose prompt block fits into the budget of tokens."""
        mem.scoped("session:a").remember(["exact", "near", "edge"])
        hits = make_hooks(mem).before_turn("a", "q")["memories"]
        budget = counter().count(format_memories(hits[:2]))
        assert make_hooks(mem, max_tokens=budget).before_turn("a", "q")["memories"] == hits[:2]
        assert make_hooks(mem, max_tokens=0).before_turn("a", "q") == {}

    def test_own_counter(self, make_hooks, mem):
        """The budget is counted by the counter that the settings name."""
        mem.scoped("session:a").remember("exact")
        huge = counter(count=lambda text: 1000)
        assert make_hooks(mem, max_tokens=500, counter=huge).before_turn("a", "q") == {}

    def test_no_text(self, hooks):
        """A turn whose input is no text is a caller's mistake, and refused."""
        with pytest.raises(InvalidQuery):
            hooks.before_turn("a", None)


class TestAfterTurn:
    @pytest.mark.parametrize(
        ("text", "reply", "remembered"),
        [
            ("what units?", "ans", ["what units?\nans"]),
            ("what units?", " \n", ["what units?"]),
            ("what units?", None, ["what units?"]),
            ("\t", "ans", ["ans"]),
            ("", " ", []),
        ],
    )
    def test_both_sides(self, hooks, mem, text, reply, remembered):
        """Input and reply are remembered with a line break between; a blank one is left out, two are nothing."""
        hooks.after_turn("a", text, reply)
        assert texts(mem, "session:a") == remembered

    def test_failed(self, hooks, mem):
        """Nothing is remembered of a turn that failed."""
        hooks.after_turn("a", "what units?", "ans", ok=False)
        assert mem.scoped("session:a").count() == 0

    def test_default_tier(self, make_hooks, open_memory):
        """Turns are remembered in the memory's default tier."""
        mem = open_memory(default_tier="procedural")
        make_hooks(mem).after_turn("a", "what units?", "ans")
        assert texts(mem, "session:a", "procedural") == ["what units?\nans"]

    def test_own_tier(self, make_hooks, mem):
        """Turns are remembered in the tier that the settings name."""
        make_hooks(mem, remember_tier="episodic").after_turn("a", "what units?", "ans")
        assert texts(mem, "session:a", "episodic") == ["what units?\nans"]
        assert mem.scoped("session:a").count() == 1


class TestTurn:
    def test_remembered(self, hooks, mem):
        """A turn is recalled at its begin, and remembered with its reply at its end."""
        mem.scoped("session:a").remember("exact")
        seen = []

        def body(turn):
            seen.append((turn.context["user"], [hit.text for hit in turn.context["memories"]]))
            turn.reply = "ans"

        in_turn(hooks, "a", "q", body, {"user": "ada"})
        assert seen == [("ada", ["exact"])]
        assert texts(mem, "session:a") == ["exact", "q\nans"]

    def test_raising(self, hooks, mem):
        """An exception passes through, and nothing is remembered of its turn."""

        def body(turn):
            turn.reply = "half an ans"
            raise KeyError("a tool")

        with pytest.raises(KeyError, match="a tool"):
            in_turn(hooks, "a", "q", body)
        assert mem.scoped("session:a").count() == 0

    def test_not_ok(self, hooks, mem):
        """Nothing is remembered of a turn that says that it failed."""

        def body(turn):
            turn.reply, turn.ok = "sorry", False

        in_turn(hooks, "a", "q", body)
        assert mem.scoped("session:a").count() == 0

    async def test_cancelled(self, redis_url, namespace, embedder):
        """A cancellation passes through, and nothing is remembered of its turn."""
        inside = asyncio.Event()

        async def take_turn():
            async with hooks.turn("a", "q") as turn:
                turn.reply = "half an ans"
                inside.set()
                await asyncio.sleep(60)

        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            hooks = AsyncTurnHooks(mem)
            task = asyncio.create_task(take_turn())
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await mem.scoped("session:a").count() == 0


class TestRecallFails:
    def test_goes_on(self, make_hooks, open_memory, caplog):
        """When the server is gone, a turn goes on with the caller's context, and the fault is reported."""
        events = []
        with redis_server() as url:
            mem = open_memory(url=url, retries=0)
            hooks = make_hooks(mem, on_event=events.append)
            hooks.after_turn("a", "my email is a@x", "noted")
        assert hooks.before_turn("a", "what is my email?", {"user": "ada"}) == {"user": "ada"}
        (event,) = events
        assert event.kind == "recall_failed"
        assert isinstance(event.error, StoreUnavailable)
        assert [record.levelno for record in caplog.records] == [logging.WARNING]

    def test_raises(self, make_hooks, mem, embedder):
        """With `raise`, a turn fails with the recall's exception."""
        embedder.refused = ("q",)
        events = []
        hooks = make_hooks(mem, on_recall_error="raise", on_event=events.append)
        with pytest.raises(EmbeddingError):
            hooks.before_turn("a", "q")
        assert events == []

    def test_turn_goes_on(self, make_hooks, mem, embedder):
        """A turn whose recall fails is still taken and remembered."""
        embedder.refused = ("q",)
        hooks = make_hooks(mem, remember_tier="working")
        in_turn(hooks, "a", "q", lambda turn: setattr(turn, "reply", "ans"))
        assert texts(mem, "session:a", "working") == ["q\nans"]


class TestRememberFails:
    def test_server_gone(self, make_hooks, open_memory):
        """When the server is gone after a turn, its reply is kept, and its write waits."""
        events = []
        with redis_server() as url:
            mem = open_memory(url=url, retries=0)
            hooks = make_hooks(mem, on_event=events.append)
            hooks.before_turn("a", "q")
        hooks.after_turn("a", "q", "ans")
        assert hooks.waiting == 1
        assert [(event.kind, type(event.error)) for event in events] == [("remember_failed", StoreUnavailable)]

    def test_next_turn(self, hooks, mem, redis_url):
        """The next turn that is remembered takes the waiting write along, of whatever session."""
        mem.count()
        with refusing_writes(redis_url):
            hooks.after_turn("a", "one", "1")
        assert texts(mem, "session:a") == []
        hooks.after_turn("b", "two", "2")
        assert (texts(mem, "session:a"), texts(mem, "session:b")) == (["one\n1"], ["two\n2"])
        assert hooks.waiting == 0

    def test_time(self, hooks, mem, embedder):
        """A write that waited keeps the time of its turn."""
        embedder.refused = ("one",)
        hooks.after_turn("a", "one", "1")
        replied = clock.now()
        embedder.refused = ()
        hooks.flush()
        (memory,) = mem.scoped("session:a").list("semantic").items
        assert memory.at < replied < memory.created_at

    def test_flush(self, hooks, mem, embedder):
        """A flush tries every waiting write and says how many still wait; one that fails doesn't stop the others."""
        embedder.refused = ("text",)
        for number in range(7):
            hooks.after_turn("a", f"text {number}", "")
        assert hooks.waiting == 7
        embedder.refused = ("text 2",)
        assert hooks.flush() == 1
        assert len(texts(mem, "session:a")) == 6
        embedder.refused = ()
        assert hooks.flush() == 0
        assert "text 2" in texts(mem, "session:a")

    def test_flush_in_vain(self, make_hooks, mem, redis_url):
        """A flush stops at the first write that Redis refuses, since it would refuse the others."""
        events = []
        hooks = make_hooks(mem, on_event=events.append)
        mem.count()
        with refusing_writes(redis_url):
            hooks.after_turn("a", "one", "1")
            hooks.after_turn("a", "two", "2")
            assert hooks.flush() == 2
        assert [event.kind for event in events] == ["remember_failed"] * 3

    def test_few_a_turn(self, hooks, embedder):
        """A turn takes a few waiting writes along only, so that its reply isn't held up."""
        embedder.refused = ("text",)
        for number in range(10):
            hooks.after_turn("a", f"text {number}", "")
        embedder.refused = ()
        hooks.after_turn("a", "q", "ans")
        assert hooks.waiting == 6

    def test_given_up(self, make_hooks, mem, embedder):
        """A write that fails again and again is given up, and that is reported."""
        embedder.refused = ("poison",)
        events = []
        hooks = make_hooks(mem, on_event=events.append)
        hooks.after_turn("a", "poison", "")
        while hooks.flush():
            assert len(events) < MAX_TRIES
        assert [event.kind for event in events] == ["remember_failed"] * (MAX_TRIES - 1) + ["remember_dropped"]

    def test_bounded(self, make_hooks, mem, embedder):
        """When too many writes wait, the oldest is given up, and that is reported."""
        embedder.refused = ("text",)
        events = []
        hooks = make_hooks(mem, max_waiting=2, on_event=events.append)
        for number in range(3):
            hooks.after_turn("a", f"text {number}", "")
        assert [event.kind for event in events] == ["remember_failed"] * 3 + ["remember_dropped"]
        embedder.refused = ()
        hooks.flush()
        assert texts(mem, "session:a") == ["text 1", "text 2"]

    @pytest.mark.parametrize("reply", ["x" * (1 << 20), "\ud800", {"role": "assistant"}])
    def test_impossible(self, make_hooks, mem, reply):
        """A reply that can't be remembered is reported at once, and doesn't wait."""
        events = []
        hooks = make_hooks(mem, on_event=events.append)
        hooks.after_turn("a", "q", reply)
        assert [event.kind for event in events] == ["remember_dropped"]
        assert hooks.waiting == 0

    async def test_cancelled(self, redis_url, namespace, embedder):
        """A write stays waiting when the flush that tries it is cancelled."""
        async with async_memory(redis_url, namespace=namespace, embedder=embedder) as mem:
            hooks = AsyncTurnHooks(mem)
            embedder.refused = ("one",)
            await hooks.after_turn("a", "one", "1")
            trying = asyncio.Event()

            async def hang(texts):
                trying.set()
                await asyncio.sleep(60)

            embedder.aembed = hang
            task = asyncio.create_task(hooks.flush())
            await trying.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert hooks.waiting == 1

    def test_same_turn(self, hooks, mem, embedder):
        """A turn that is repeated while its write waits doesn't wait twice."""
        embedder.refused = ("one",)
        hooks.after_turn("a", "one", "1")
        hooks.after_turn("a", "one", "1")
        assert hooks.waiting == 1
        embedder.refused = ()
        hooks.after_turn("a", "one", "1")
        assert hooks.waiting == 0


class TestEvents:
    def test_no_text(self, make_hooks, mem, embedder, caplog):
        """Neither the log nor an event shows a text or a scope, even if an embedder's error quotes one."""
        embedder.refused = ("secret",)
        events = []
        hooks = make_hooks(mem, on_event=events.append)
        hooks.before_turn("ada", "secret")
        hooks.after_turn("ada", "secret", "ans")
        told = caplog.text + repr(events) + str([event.error for event in events])
        assert "recall_failed" in told
        assert "remember_failed" in told
        assert "secret" not in told
        assert "ada" not in told

    def test_foreign_error(self, make_hooks, mem, caplog):
        """Of an error that isn't this package's, the log and the event's representation don't show the message."""

        def count(text):
            raise RuntimeError(text)

        mem.scoped("session:a").remember("exact")
        events = []
        hooks = make_hooks(mem, max_tokens=100, counter=counter(count=count), on_event=events.append)
        assert hooks.before_turn("a", "q") == {}
        assert "RuntimeError" in caplog.text
        assert "recalled_memories" in str(events[0].error)
        assert "recalled_memories" not in caplog.text + repr(events)

    def test_scope(self, make_hooks, mem, embedder):
        """The events of one scope bear the same digest, those of another a different one."""
        embedder.refused = ("q",)
        events = []
        hooks = make_hooks(mem, on_event=events.append)
        for session in ("a", "b", "a"):
            hooks.before_turn(session, "q")
        first, second, third = (event.scope for event in events)
        assert first == third != second

    def test_failing_callback(self, make_hooks, mem, embedder, caplog):
        """A callback that fails doesn't touch the turn."""
        embedder.refused = ("q",)
        hooks = make_hooks(mem, on_event=lambda event: 1 / 0)
        assert hooks.before_turn("a", "q") == {}
        assert "ZeroDivisionError" in caplog.text

    def test_callback_may_look(self, make_hooks, mem, embedder):
        """A callback may look at the hooks that call it."""
        embedder.refused = ("q",)
        seen = []
        hooks = make_hooks(mem, on_event=lambda event: seen.append(hooks.waiting))
        hooks.after_turn("a", "q", "ans")
        assert seen == [1]


class TestEndSession:
    def test_working(self, hooks, mem):
        """The end of a session clears its working notes, and neither its other tiers nor another scope."""
        for handle in (mem, mem.scoped("session:a"), mem.scoped("session:b")):
            handle.remember(["note 1", "note 2"], tier="working")
            handle.remember("fact")
        assert hooks.end_session("a") == 2
        counts = [handle.count() for handle in (mem, mem.scoped("session:a"), mem.scoped("session:b"))]
        assert counts == [3, 1, 3]

    def test_tiers(self, make_hooks, mem):
        """The tiers to clear are those of the settings."""
        session = mem.scoped("session:a")
        session.remember([MemoryItem("fact", tier=tier) for tier in ("working", "semantic", "episodic")])
        assert make_hooks(mem, on_end=("semantic", "episodic")).end_session("a") == 2
        assert make_hooks(mem, on_end=()).end_session("a") == 0
        assert make_hooks(mem, on_end="working").end_session("a") == 1

    def test_shared(self, make_hooks, mem):
        """With `shared` nothing is cleared, since other sessions use the pool."""
        mem.remember("note", tier="working")
        assert make_hooks(mem, scope="shared").end_session("a") == 0
        assert mem.count("working") == 1

    def test_function(self, make_hooks, mem):
        """With a function, the scope that it names is cleared."""
        mem.scoped("user:1").remember("note", tier="working")
        assert make_hooks(mem, scope=lambda session: "user:1").end_session("a") == 1

    def test_waiting(self, make_hooks, mem, redis_url):
        """What waits for a tier that was cleared doesn't come back; another session's does."""
        hooks = make_hooks(mem, remember_tier="working")
        mem.count()
        with refusing_writes(redis_url):
            hooks.after_turn("a", "one", "1")
            hooks.after_turn("b", "two", "2")
        hooks.end_session("a")
        hooks.flush()
        assert (texts(mem, "session:a", "working"), texts(mem, "session:b", "working")) == ([], ["two\n2"])

    def test_switched_off(self, make_hooks, open_memory):
        """The hooks of a memory without working memory need no settings of their own."""
        assert make_hooks(open_memory(working=None)).end_session("a") == 0


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "error"),
        [
            ({"scope": "user:1"}, ConfigError),
            ({"scope": None}, ConfigError),
            ({"on_recall_error": "log"}, ConfigError),
            ({"k": -1}, InvalidQuery),
            ({"threshold": 2}, InvalidQuery),
            ({"max_tokens": -1}, InvalidQuery),
            ({"max_waiting": -1}, InvalidQuery),
            ({"tiers": "long-term"}, UnknownTier),
            ({"remember_tier": "long-term"}, UnknownTier),
            ({"remember_tier": ""}, UnknownTier),
            ({"on_end": ("long-term",)}, UnknownTier),
        ],
    )
    def test_refused(self, make_hooks, mem, settings, error):
        """A setting that can't be meant is refused when the hooks are made, with its value named."""
        with pytest.raises(error) as refusal:
            make_hooks(mem, **settings)
        assert repr(next(iter(settings.values()))).strip("(),") in str(refusal.value)

    def test_write_only(self, make_hooks, mem, embedder):
        """With `k=0` nothing is recalled, and the embedder isn't asked."""
        hooks = make_hooks(mem, k=0)
        assert hooks.before_turn("a", "q") == {}
        assert embedder.calls == []

    def test_other_handles(self, mem, mode):
        """A handle of the other mode, or one that is bound to a scope, is refused."""
        root = mem if mode == "blocking" else mem._handle
        right, wrong = (TurnHooks, AsyncTurnHooks) if mode == "blocking" else (AsyncTurnHooks, TurnHooks)
        assert isinstance(root, AsyncMemory) == (right is AsyncTurnHooks)
        with pytest.raises(ConfigError, match="root handle"):
            wrong(root)
        with pytest.raises(ConfigError, match="root handle"):
            right(root.scoped("a"))

    def test_repr(self, hooks):
        """The representation names the class and how many writes wait."""
        shown = repr(hooks if isinstance(hooks, TurnHooks) else hooks._handle)
        assert "TurnHooks" in shown
        assert "0 writes waiting" in shown
