"""The neighbouring turns that come with a hit: `window`."""

from __future__ import annotations

import pytest
from attrs import fields_dict
from shorthand import TIERS, frozen, texts

from tiered_memory import InvalidLimit, MemoryItem, MemoryRecord


def turn(text, conversation=None, tier="episodic", **given):
    metadata = {} if conversation is None else {"conversation": conversation}
    return MemoryItem(text, tier, id=text, metadata=metadata, **given)


def around(mem, window, query="q", tier="episodic", **asked):
    """What stands before and after the only hit, from the oldest to the newest."""
    (hit,) = mem.recall(query, tier=tier, window=window, threshold=0.99, **asked)
    return texts(hit.before), texts(hit.after)


@pytest.fixture
def said(mem):
    """A conversation of nine turns whose middle one is found."""
    mem.remember([turn(text, "a") for text in ("1", "2", "3", "4", "exact", "6", "7", "8", "9")])
    return mem


class TestWindow:
    @pytest.mark.parametrize(
        ("window", "before", "after"),
        [(0, "", ""), (1, "4", "6"), (3, "234", "678"), (4, "1234", "6789"), (50, "1234", "6789")],
    )
    def test_in_order(self, said, window, before, after):
        """As many turns as are asked for come before it and after it, in their order; fewer at the ends."""
        assert around(said, window) == (list(before), list(after))

    def test_whole_memories(self, said):
        """A neighbour is a memory with all that it has, and no hit."""
        (hit,) = said.recall("q", tier="episodic", window=1, threshold=0.99)
        (after,), standing = hit.after, said.get("6", "episodic")
        assert all(getattr(after, name) == getattr(standing, name) for name in fields_dict(MemoryRecord))

    def test_every_hit(self, mem):
        """Each hit has its own neighbours, which may be hits themselves."""
        mem.remember([turn(text, "a") for text in ("exact", "near", "edge")])
        hits = mem.recall("q", tier="episodic", window=1)
        assert {hit.text: (texts(hit.before), texts(hit.after)) for hit in hits} == {
            "exact": ([], ["near"]),
            "near": (["exact"], ["edge"]),
            "edge": (["near"], []),
        }

    @pytest.mark.parametrize("how", ["text", "hybrid"])
    def test_every_mode(self, said, how):
        """They come in every mode."""
        (hit,) = [hit for hit in said.recall("exact", tier="episodic", window=1, mode=how) if hit.text == "exact"]
        assert (texts(hit.before), texts(hit.after)) == (["4"], ["6"])

    @pytest.mark.parametrize("tier", TIERS)
    def test_every_tier(self, mem, tier):
        """They come in every tier, notes among them."""
        mem.remember([turn(text, "a", tier) for text in ("1", "2", "exact", "3")])
        (hit,) = [hit for hit in mem.recall("q", tier=tier, window=1, k=9, threshold=0.99) if hit.text == "exact"]
        assert (texts(hit.before), texts(hit.after)) == (["2"], ["3"])

    @pytest.mark.parametrize("window", [-1, 1.5, "many", None])
    def test_refused(self, mem, embedder, window):
        """What is no number of turns is refused, before anything is embedded."""
        with pytest.raises(InvalidLimit, match="window"):
            mem.recall("q", window=window)
        assert embedder.calls == []


class TestConversation:
    def test_interleaved(self, mem):
        """Turns of other conversations in between are passed over."""
        order = [("1", "a"), ("x", "b"), ("2", "a"), ("y", None), ("exact", "a"), ("z", "c"), ("w", "b"), ("3", "a")]
        mem.remember([turn(*each) for each in order])
        assert around(mem, 2) == (["1", "2"], ["3"])

    def test_of_none(self, mem):
        """What names no conversation has neighbours that name none either."""
        order = [("1", None), ("x", "a"), ("exact", None), ("y", "a"), ("2", None)]
        mem.remember([turn(*each) for each in order])
        assert around(mem, 1) == (["1"], ["2"])

    @pytest.mark.parametrize("conversation", [7, 12345678901234567, "é/:*", "x" * 500])
    def test_any_name(self, mem, conversation):
        """A conversation has any text or whole number for its name, and is told from all others."""
        other = conversation + 1 if isinstance(conversation, int) else conversation + "x"
        order = [("1", conversation), ("x", other), ("exact", conversation), ("y", other), ("2", conversation)]
        mem.remember([turn(*each) for each in order])
        assert around(mem, 1) == (["1"], ["2"])

    def test_scope(self, mem):
        """Other scopes and other tiers have no part in it."""
        for scope in (None, "b"):
            mem.remember([turn(text, "a", scope=scope) for text in ("1", "exact", "2")])
        mem.remember([turn("tier", "a", "semantic")])
        hits = mem.recall("q", tier="episodic", window=5, threshold=0.99, scope=[None, "b"])
        for hit in hits:
            assert [(each.text, each.scope, each.tier) for each in (*hit.before, *hit.after)] == [
                ("1", hit.scope, "episodic"),
                ("2", hit.scope, "episodic"),
            ]


class TestGone:
    def test_forgotten(self, said):
        """What is forgotten is passed over."""
        said.forget("4", "episodic")
        said.forget("6", "episodic")
        assert around(said, 2) == (["2", "3"], ["7", "8"])

    @pytest.mark.parametrize("tier", ["episodic", "working"])
    def test_expired(self, mem, tier):
        """What has expired is passed over, from that moment on."""
        with frozen() as time:
            for text in ("1", "2", "exact", "3", "4"):
                mem.remember(turn(text, "a", tier, ttl=60 if text in "23" else None))
            time.tick(60)
            (hit,) = [hit for hit in mem.recall("q", tier=tier, window=1, k=9, threshold=0.99) if hit.text == "exact"]
            assert (texts(hit.before), texts(hit.after)) == (["1"], ["4"])

    def test_never_believed(self, said):
        """What waits for review is no neighbour, and of what was superseded only what stands there now is."""
        said.remember(MemoryItem("claim", "episodic", id="claim", status="candidate", metadata={"conversation": "a"}))
        said.update("4", "episodic", text="4 again")
        assert around(said, 50) == (["1", "2", "3", "4 again"], ["6", "7", "8", "9"])
