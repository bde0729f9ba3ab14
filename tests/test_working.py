"""Working memory: recent notes, newest first, bounded in number and in time."""

from __future__ import annotations

from datetime import timedelta

from shorthand import frozen, ranked, texts

from tiered_memory import MemoryItem, WorkingConfig


class TestOrder:
    def test_newest_first(self, mem):
        """The score of note i of n, counted from the newest, is 1 - i/n."""
        mem.remember(list("abcdef"), tier="working")
        assert ranked(mem.recall("zzz")) == [("f", 1), ("e", 0.8), ("d", 0.6), ("c", 0.4), ("b", 0.2)]

    def test_n_is_what_is_returned(self, mem):
        """n is the number of notes returned, so that the newest scores 1 and the scores are evenly spread."""
        mem.remember(["a", "b", "c"], tier="working")
        assert ranked(mem.recall("q", k=1)) == [("c", 1)]
        assert ranked(mem.recall("q", k=2)) == [("c", 1), ("b", 0.5)]
        assert ranked(mem.recall("q", k=3)) == [("c", 1), ("b", 0.666667), ("a", 0.333333)]

    def test_threshold_is_irrelevant(self, mem):
        """A threshold of similarity takes no note away."""
        mem.remember(["a", "b"], tier="working")
        assert ranked(mem.recall("q", threshold=1)) == [("b", 1), ("a", 0.5)]

    def test_order_within_one_moment(self, mem):
        """Notes of one microsecond, in one batch or several, keep the order in which they came."""
        with frozen():
            mem.remember(["z", "a"], tier="working")
            mem.remember("m", tier="working")
            assert texts(mem.recall("q")) == ["m", "a", "z"]

    def test_not_embedded(self, mem, embedder):
        """Neither notes nor queries of working memory alone reach the embedder."""
        mem.remember("a", tier="working")
        mem.recall("q", tier="working")
        assert embedder.calls == []


class TestRememberingAgain:
    def test_place_is_kept(self, mem):
        """A note remembered again at its id has a new text, and its place and metadata."""
        mem.remember(MemoryItem("one", "working", id="1", metadata={"n": 1}))
        mem.remember(MemoryItem("two", "working", id="2"))
        (again,) = mem.remember(MemoryItem("uno", "working", id="1"))
        hits = mem.recall("q")
        assert [(hit.id, hit.text, hit.score) for hit in hits] == [("2", "two", 1), ("1", "uno", 0.5)]
        assert hits[1].metadata == {"n": 1}
        assert again.outcome == "replaced"

    def test_same_text_is_the_same_note(self, mem):
        """A text without an id stands at an id of its own, so that the same text is one note."""
        outcomes = mem.remember(["a", "b", "a"], tier="working")
        assert [each.outcome for each in outcomes] == ["recorded", "recorded", "reaffirmed"]
        assert texts(mem.recall("q")) == ["b", "a"]


class TestBound:
    def test_first_in_first_out(self, open_memory):
        """The note whose id came first goes first, however lately it was overwritten."""
        mem = open_memory(working=WorkingConfig(max_items=3))
        for text in ["a", "b", "c", "a", "d"]:
            mem.remember(text, tier="working")
        assert texts(mem.recall("q", k=10)) == ["d", "c", "b"]
        assert mem.count("working") == 3

    def test_a_batch_over_the_bound(self, open_memory):
        """Of a batch longer than the bound, the last notes stay."""
        mem = open_memory(working=WorkingConfig(max_items=2))
        mem.remember(list("abcde"), tier="working")
        assert texts(mem.recall("q")) == ["e", "d"]

    def test_each_scope_for_itself(self, open_memory):
        """One scope's notes never push out another's."""
        mem = open_memory(working=WorkingConfig(max_items=2))
        mem.scoped("a").remember("mine", tier="working")
        mem.scoped("b").remember(list("xyz"), tier="working")
        mem.remember(list("uvw"), tier="working")
        assert texts(mem.scoped("a").recall("q")) == ["mine"]

    def test_expired_notes_take_no_place(self, open_memory):
        """A note whose time is up doesn't push out one that lives, even when other scopes wait to be swept first."""
        mem = open_memory(working=WorkingConfig(max_items=3))
        with frozen() as time:
            for other in "uvwxyz":
                mem.scoped(other).remember("brief", tier="working", ttl=1)
            mem.remember("old", tier="working")
            mem.remember("brief", tier="working", ttl=2)
            mem.remember("new", tier="working")
            time.tick(3)
            mem.remember("newest", tier="working")
            assert texts(mem.recall("q")) == ["newest", "new", "old"]


class TestIdleTime:
    def test_notes_go_together(self, open_memory):
        """When no note came for the idle time, a scope's notes are gone."""
        mem = open_memory(working=WorkingConfig(idle=timedelta(minutes=30)))
        with frozen() as time:
            mem.remember(["a", "b"], tier="working")
            time.tick(timedelta(minutes=29))
            assert texts(mem.recall("q")) == ["b", "a"]
            time.tick(timedelta(minutes=1))
            assert mem.recall("q") == []
            assert mem.count("working") == 0
            assert mem.list("working").items == []
            assert mem.clear("working") == 0

    def test_a_note_keeps_the_others(self, open_memory):
        """Each new note begins the idle time anew."""
        mem = open_memory(working=WorkingConfig(idle=60))
        with frozen() as time:
            for text in "abc":
                mem.remember(text, tier="working")
                time.tick(45)
            assert texts(mem.recall("q")) == ["c", "b", "a"]

    def test_a_new_beginning(self, open_memory):
        """A note after the idle time is the only one."""
        mem = open_memory(working=WorkingConfig(idle=60))
        with frozen() as time:
            mem.remember(["a", "b"], tier="working")
            time.tick(61)
            mem.remember("c", tier="working")
            assert ranked(mem.recall("q")) == [("c", 1)]

    def test_other_tiers_stay(self, open_memory):
        """The idle time of the notes takes nothing else."""
        mem = open_memory(working=WorkingConfig(idle=60))
        with frozen() as time:
            mem.remember("exact", tier="working")
            mem.remember("exact", tier="semantic")
            time.tick(61)
            assert [hit.tier for hit in mem.recall("q")] == ["semantic"]
