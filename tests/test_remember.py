"""Remembering batches: validated and embedded as a whole, then written as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from shorthand import NOON, TIERS, frozen, texts

from tiered_memory import EmbeddingError, InvalidInput, InvalidItem, InvalidScope, MemoryItem, UnknownTier


def contents(redis_url: str, namespace: str) -> dict[bytes, bytes]:
    """Every key of a namespace with its value as the server dumps it."""
    with Redis.from_url(redis_url) as client:
        return {key: client.dump(key) for key in client.scan_iter(f"{{{namespace}:*", count=1000)}


@pytest.fixture
def unchanged(redis_url: str, namespace: str) -> Callable[[], bool]:
    """Tells whether the store is what it was when this was first asked."""
    before: list[Any] = []

    def same() -> bool:
        before.append(contents(redis_url, namespace))
        return before[0] == before[-1]

    return same


class TestOutcome:
    def test_one_for_each_item(self, mem):
        """The answer says of each item, in their order, where it stands and what happened."""
        items = [MemoryItem("exact", tier, id=tier, scope="a" if tier == "episodic" else None) for tier in TIERS]
        first, second = mem.remember(items), mem.remember(items)
        assert [(each.id, each.tier, each.scope) for each in first] == [
            (tier, tier, "a" if tier == "episodic" else None) for tier in TIERS
        ]
        assert {each.outcome for each in first} == {"recorded"}
        assert {each.outcome for each in second} == {"reaffirmed"}

    def test_text(self, mem):
        """A single text can be remembered as it is, with its id, metadata, time and lifetime beside it."""
        with frozen():
            mem.remember("exact", tier="episodic", id="x", metadata={"a": [1, None]}, at=NOON - timedelta(1), ttl=60)
            found = mem.get("x", "episodic")
        assert (found.text, found.metadata, found.at) == ("exact", {"a": [1, None]}, NOON - timedelta(1))
        assert found.expires_at == NOON + timedelta(minutes=1)

    def test_everything_comes_back(self, mem):
        """All that an item says comes back with get, list and recall."""
        given = {"confidence": 0.25, "importance": 1, "source": "user", "metadata": {"ü": {"n": [1.5, True, "x"]}}}
        for tier in TIERS:
            mem.remember(MemoryItem("exact", tier, id="x", at=NOON, scope="s", **given))
            scoped = mem.scoped("s")
            for found in (scoped.get("x", tier), scoped.list(tier).items[0], scoped.recall("q", tier=tier)[0]):
                assert {name: getattr(found, name) for name in given} == given
                assert (found.id, found.text, found.tier, found.scope) == ("x", "exact", tier, "s")
                assert (found.at, found.status, found.uses, found.cut) == (NOON, "active", 1, False)

    def test_default_tier(self, mem, open_memory):
        """An item without a tier goes to the call's, else to the configured one, else to semantic memory."""
        assert mem.remember("a")[0].tier == "semantic"
        assert mem.remember(MemoryItem("a"), tier="working")[0].tier == "working"
        assert mem.remember(MemoryItem("a", "episodic"), tier="working")[0].tier == "episodic"
        assert open_memory(default_tier="procedural").remember("b")[0].tier == "procedural"

    def test_nothing(self, mem, embedder):
        """An empty batch does nothing."""
        assert mem.remember([]) == []
        assert embedder.calls == []

    def test_several_scopes(self, mem):
        """The items of one batch may go to several scopes, and the answers keep their order."""
        outcomes = mem.remember([MemoryItem(str(number), scope="abc"[number % 3]) for number in range(9)])
        assert [each.scope for each in outcomes] == list("abc") * 3
        assert texts(mem.scoped("b").list("semantic").items) == ["1", "4", "7"]


class TestNothingIsShared:
    def test_with_what_was_given(self, mem):
        """What the caller changes after remembering changes nothing in the store, nor in the item."""
        metadata: dict[str, Any] = {"a": [1]}
        item = MemoryItem("exact", id="x", metadata=metadata)
        metadata["a"].append(2)
        mem.remember(item)
        metadata["b"] = 3
        assert mem.get("x", "semantic").metadata == {"a": [1]}

    def test_with_what_is_returned(self, mem):
        """What the caller changes in a hit changes nothing in the store, nor in other hits."""
        mem.remember(MemoryItem("exact", id="x", metadata={"a": [1]}))
        first, second = mem.recall("q"), mem.recall("q")
        first[0].metadata["a"].append(2)
        first.clear()
        assert second[0].metadata == mem.recall("q")[0].metadata == {"a": [1]}


class TestAllOrNothing:
    @pytest.mark.parametrize("bad", ["", " \n", 5, None, b"exact", "\ud800"])
    def test_a_bad_text(self, mem, embedder, unchanged, bad):
        """A batch with a blank text, or something that is no text, is refused: the message names its place."""
        mem.remember("exact")
        assert unchanged()
        with pytest.raises(InvalidItem, match="item 1"):
            mem.remember(["near", bad, "far"])
        assert unchanged()
        assert embedder.calls == [["exact"]]

    @pytest.mark.parametrize("tier", ["nothing", "Semantic", ""])
    def test_an_unknown_tier(self, mem, embedder, unchanged, tier):
        """A batch with an unknown tier is refused before the embedder is called."""
        mem.remember("exact")
        assert unchanged()
        with pytest.raises(UnknownTier, match=f"item 1.*{tier!r}"):
            mem.remember([MemoryItem("near"), MemoryItem("near", tier), MemoryItem("far")])
        assert unchanged()
        assert embedder.calls == [["exact"]]

    @pytest.mark.parametrize(
        "answer",
        [
            [[1, 0, 0]],
            [[1, 0, 0]] * 4,
            [[1, 0]] * 3,
            [[1, 0, 0, 0]] * 3,
            [[1, 0, 0], [1, 0], [1, 0, 0]],
            [[1, 0, 0], [float("nan"), 0, 0], [1, 0, 0]],
            [[1, 0, 0], [float("inf"), 0, 0], [1, 0, 0]],
            [[1, 0, 0], [0, 0, 0], [1, 0, 0]],
            [[1, 0, 0], ["x", 0, 0], [1, 0, 0]],
            None,
            "vectors",
        ],
    )
    def test_a_bad_vector(self, mem, embedder, unchanged, answer):
        """Vectors of a wrong number or length, or that can't be compared, are refused; what was there is recalled."""
        mem.remember("exact")
        assert unchanged()
        right, embedder.embed = embedder.embed, lambda texts: answer
        with pytest.raises(EmbeddingError, match="table"):
            mem.remember(["near", "far", "edge"])
        embedder.embed = right
        assert unchanged()
        assert texts(mem.recall("q")) == ["exact"]

    def test_the_place_of_a_bad_vector(self, mem, embedder):
        """The message names the item of the batch whose vector can't be used, notes counted with the rest."""
        embedder.table["bad"] = np.array([float("nan"), 0, 0], "f4")
        with pytest.raises(EmbeddingError, match="item 2"):
            mem.remember([MemoryItem("note", "working"), MemoryItem("near"), MemoryItem("bad")])

    def test_a_failing_embedder(self, mem, embedder, unchanged):
        """When the embedder raises, nothing is written, and its message isn't quoted, for it may hold the text."""

        def fail(texts: list[str]) -> None:
            raise RuntimeError(f"could not embed {texts}")

        mem.remember("exact")
        assert unchanged()
        embedder.embed = fail
        with pytest.raises(EmbeddingError, match="RuntimeError") as raised:
            mem.remember([MemoryItem("near", "working"), MemoryItem("secret")])
        assert "secret" not in str(raised.value)
        assert unchanged()

    def test_once_with_too_few_numbers(self, mem, embedder):
        """An embedder that answers once with a shorter vector leaves no row, and everything works after it."""
        right, embedder.embed = embedder.embed, lambda texts: np.ones((len(texts), 2), "f4")
        with pytest.raises(EmbeddingError, match=r"\[1, 2\].*\[1, 3\]"):
            mem.remember("near")
        embedder.embed = right
        assert mem.count() == 0
        mem.remember("near")
        assert texts(mem.recall("q")) == ["near"]


class TestValidation:
    @pytest.mark.parametrize(
        ("name", "values"),
        [
            ("id", ["", 5, b"x", "\ud800", "x" * 16_385]),
            ("source", ["", 5, "\ud800"]),
            ("confidence", [-0.1, 1.1, float("nan"), "0.5", None, True]),
            ("importance", [-0.1, 1.1, float("inf"), "0.5", None, True]),
            ("status", ["superseded", "Active", "", None]),
            ("ttl", [0, -1, float("nan"), float("inf"), "60", timedelta(0), timedelta(microseconds=999), True]),
            ("at", ["2026-03-01", 5, NOON.replace(tzinfo=None)]),
            ("metadata", [[], "x", 5, {1: 2}, {"a": float("nan")}, {"a": {1, 2}}, {"a": b"x"}, {"a": "\ud800"}]),
        ],
    )
    def test_values(self, name, values):
        """A value that is out of its range is refused when the item is made, and named."""
        for value in values:
            with pytest.raises(InvalidInput, match=name):
                MemoryItem("exact", **{name: value})

    def test_metadata_that_holds_itself(self):
        """Metadata without an end is refused."""
        endless: dict[str, Any] = {}
        endless["self"] = endless
        with pytest.raises(InvalidItem, match="metadata"):
            MemoryItem("exact", metadata=endless)

    @pytest.mark.parametrize("items", [None, 5, b"exact", {"text": "exact"}, [["exact"]], [{"text": "exact"}]])
    def test_things_that_are_no_items(self, mem, items):
        """What is neither a text, nor an item, nor a sequence of these, is refused; so is a mapping."""
        with pytest.raises(InvalidItem):
            mem.remember(items)
        assert mem.count() == 0

    def test_sizes(self, mem):
        """A text, an id and metadata as long as allowed are kept; one byte more is refused."""
        text, id_, metadata = "é" * (512 * 1024), "ü" * (8 * 1024), {"a": "x" * (256 * 1024 - 8)}
        mem.remember(MemoryItem(text, id=id_, metadata=metadata))
        found = mem.get(id_, "semantic")
        assert (found.text, found.id, found.metadata) == (text, id_, metadata)
        for longer in ({"text": text + "x"}, {"id": id_ + "x"}, {"metadata": {"a": metadata["a"] + "x"}}):
            with pytest.raises(InvalidItem, match="at most"):
                MemoryItem(**{"text": "exact", **longer})

    def test_own_values_of_a_batch(self, mem):
        """An id beside a batch is refused, since it could stand for one item only."""
        with pytest.raises(InvalidItem, match="id"):
            mem.remember(["near", "far"], id="x")
        with pytest.raises(InvalidItem, match="metadata"):
            mem.remember(MemoryItem("near"), metadata={})

    def test_candidate_notes(self, mem):
        """A note of working memory can't wait for review."""
        with pytest.raises(InvalidItem, match=r"item 0.*candidate"):
            mem.remember(MemoryItem("near", "working", status="candidate"))

    def test_a_foreign_scope(self, mem):
        """An item that names another scope than the handle's is refused, and its place is named."""
        with pytest.raises(InvalidScope, match="item 1"):
            mem.scoped("a").remember([MemoryItem("near", scope="a"), MemoryItem("near", scope="b")])
        assert mem.scoped("a").count() == mem.scoped("b").count() == 0

    def test_texts_of_every_kind(self, mem):
        """Texts come back as they are, with control characters, NUL, any script, and in their own normal form."""
        strange = [
            "a\0b",
            "\x1b[0m\u200b",
            "e\u0301",
            "\u00e9",
            "🎉👩‍👩‍👧",
            "安娜喜欢绿茶",
            "קפה",
            " padded ",
            "\r\n.\r\n",
            "%s {} $x",
        ]
        for tier in TIERS:
            mem.remember(strange, tier=tier)
            assert texts(mem.list(tier).items) == strange


class TestCut:
    def test_flagged(self, open_memory):
        """A text that is longer than the embedder reads is kept whole, found by its beginning, and flagged as cut."""

        class Short(TableEmbedder):
            def fit(self, text: str) -> str:
                return text[:5]

        mem = open_memory(embedder=Short())
        short, long = mem.remember(["exact", "exact and much more"])
        assert (short.cut, long.cut) == (False, True)
        assert {(hit.text, hit.cut, hit.score) for hit in mem.recall("q")} == {
            ("exact", False, 1), ("exact and much more", True, 1),
        }  # fmt: skip

    def test_no_longer(self, open_memory):
        """A shorter text at the same id isn't flagged any more."""

        class Short(TableEmbedder):
            def fit(self, text: str) -> str:
                return text[:5]

        mem = open_memory(embedder=Short())
        mem.remember("exact and much more", id="x")
        mem.remember("exact", id="x")
        assert not mem.get("x", "semantic").cut
        mem.update("x", "semantic", text="exact and much more")
        assert mem.get("x", "semantic").cut
        mem.update("x", "semantic", text="exact")
        assert not mem.get("x", "semantic").cut


class TestLifetime:
    @pytest.mark.parametrize("tier", TIERS)
    def test_gone_when_its_time_is_up(self, mem, tier):
        """What has expired by our clock is gone from every read at once, whether or not Redis has reclaimed it."""
        with frozen() as time:
            mem.remember(["exact", "near"], tier=tier)
            mem.remember("edge", tier=tier, id="x", ttl=timedelta(hours=1))
            time.tick(timedelta(hours=1) - timedelta(microseconds=1))
            assert mem.count(tier) == 3
            time.tick(timedelta(microseconds=1))
            assert mem.count(tier) == 2
            assert mem.get("x", tier) is None
            assert texts(mem.list(tier).items) == ["exact", "near"]
            assert "edge" not in texts(mem.recall("q"))
            assert mem.forget("x", tier) == 0

    def test_no_place_is_lost(self, mem):
        """What has expired takes no place among the k: others move up."""
        with frozen() as time:
            mem.remember([MemoryItem("exact", id=f"brief {number}", ttl=60) for number in range(30)])
            mem.remember([MemoryItem("near", id=f"stays {number}") for number in range(12)])
            time.tick(60)
            hits = mem.recall("q", k=10)
        assert texts(hits) == ["near"] * 10

    @pytest.mark.parametrize("tier", TIERS)
    def test_remembered_after_it(self, mem, tier):
        """At an id whose memory expired, remembering begins anew."""
        with frozen() as time:
            mem.remember("exact", tier=tier, id="x", ttl=60, metadata={"a": 1})
            time.tick(61)
            (outcome,) = mem.remember("exact", tier=tier, id="x")
            found = mem.get("x", tier)
        assert outcome.outcome == "recorded"
        assert (found.uses, found.metadata, found.expires_at) == (1, {}, None)
        assert found.created_at == NOON + timedelta(seconds=61)

    @pytest.mark.parametrize("tier", TIERS)
    def test_stays_when_not_given(self, mem, tier):
        """Remembering or updating without a lifetime keeps the one that is there; with one, it begins now."""
        with frozen() as time:
            mem.remember("exact", tier=tier, id="x", ttl=60)
            time.tick(30)
            mem.remember("near", tier=tier, id="x")
            mem.update("x", tier, text="edge")
            mem.update("x", tier, metadata={"a": 1})
            mem.remember("edge", tier=tier, id="x")
            assert mem.get("x", tier).expires_at == NOON + timedelta(seconds=60)
            mem.remember("edge", tier=tier, id="x", ttl=60)
            assert mem.get("x", tier).expires_at == NOON + timedelta(seconds=90)
            mem.update("x", tier, ttl=10)
            assert mem.get("x", tier).expires_at == NOON + timedelta(seconds=40)
            mem.update("x", tier, ttl=False)
            assert mem.get("x", tier).expires_at is None
            time.tick(3600)
            assert mem.get("x", tier).text == "edge"

    def test_redis_reclaims(self, mem, redis_url, namespace):
        """When the lifetime is over, Redis itself drops the record and its history together."""
        mem.remember("exact", id="x", ttl=0.4)
        mem.remember("near", id="x")
        mem.remember("edge", id="y")
        with Redis.from_url(redis_url) as client:
            records = list(client.scan_iter(f"{{{namespace}:*:record:*", count=1000))
            lifetimes = sorted(client.pttl(key) for key in records)
        assert lifetimes[0] == -1
        assert 0 < lifetimes[1] <= lifetimes[2] <= 400

    def test_rows_that_expire_at_this_moment(self, mem):
        """While Redis reclaims rows, a recall is still full, and no hit is empty."""
        mem.remember([MemoryItem("exact", tier, id=f"brief {n}", ttl=0.3) for n in range(5) for tier in TIERS[1:]])
        mem.remember([MemoryItem("near", tier, id=f"stays {n}") for n in range(12) for tier in TIERS[1:]])
        end = monotonic() + 0.8
        while monotonic() < end:
            for tier in TIERS[1:]:
                hits = mem.recall("q", k=10, tier=tier)
                assert len(hits) == 10
                assert all(hit.text in ("exact", "near") for hit in hits)
            sleep(0.02)
        assert texts(mem.recall("q", k=10, tier="semantic")) == ["near"] * 10

    def test_the_longest(self, mem):
        """A lifetime that ends after the calendar does is refused, and nothing is written."""
        with pytest.raises(InvalidInput, match="ttl"):
            mem.remember("exact", id="x", ttl=timedelta.max)
        assert mem.count() == 0
        mem.remember("exact", id="x", ttl=timedelta(days=36_500))
        assert mem.get("x", "semantic").expires_at > NOON + timedelta(days=36_000)


class TestTimes:
    @pytest.mark.parametrize("tier", TIERS)
    def test_created_and_updated(self, mem, tier):
        """Overwriting keeps when something was first remembered at the id, and sets when it was changed."""
        with frozen() as time:
            mem.remember("exact", tier=tier, id="x")
            time.tick(60)
            mem.remember("near", tier=tier, id="x")
            found = mem.get("x", tier)
            assert (found.created_at, found.updated_at) == (NOON, NOON + timedelta(seconds=60))
            time.tick(60)
            mem.update("x", tier, metadata={"a": 1})
            found = mem.get("x", tier)
            assert (found.created_at, found.updated_at) == (NOON, NOON + timedelta(seconds=120))
