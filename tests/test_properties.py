"""Properties that hold for any scope, id, text and metadata: what goes in comes out, and nothing meets."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from shorthand import TIERS

from tiered_memory import MemoryItem, scope
from tiered_memory.engine.keys import decode_scope, encode_scope

quick = settings(
    max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
unicode = st.characters(exclude_categories=["Cs"])
names = st.text(unicode, min_size=1, max_size=30) | st.text(unicode, min_size=1, max_size=2).map(
    lambda part: part * 1000
)
contents = st.text(unicode, min_size=1, max_size=30).filter(str.strip)
metadata = st.dictionaries(
    st.text(unicode, max_size=9),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers(-(2**63), 2**63)
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(unicode, max_size=9),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(unicode, max_size=5), inner, max_size=3),
        max_leaves=6,
    ),
    max_size=4,
)


def variants(name: str) -> list[str]:
    """Names that are easily taken for `name`."""
    return [name + " ", " " + name, name + "\0", name + "\0x", name.swapcase(), name[:-1], name + name, name + "*"]


pairs = st.tuples(names, names) | names.flatmap(lambda name: st.tuples(st.just(name), st.sampled_from(variants(name))))
pairs = pairs.filter(lambda pair: pair[0] != pair[1] and all(pair))


@pytest.fixture
def fresh(mem):
    """Clears the namespace, for each example to begin with nothing."""

    def clear():
        mem.clear()
        return mem

    return clear


class TestRoundTrip:
    @quick
    @given(names, names, contents, metadata, st.sampled_from(TIERS))
    @example("\0", "\0", "\0", {"\0": "\0"}, "semantic")
    def test_what_goes_in_comes_out(self, fresh, scope, id_, text, given, tier):
        """Any scope, id, text and metadata comes back as it was, by get, list and recall."""
        user = fresh().scoped(scope)
        user.remember(MemoryItem(text, tier, id=id_, metadata=given))
        for found in (user.get(id_, tier), *user.list(tier).items, *user.recall(text, tier=tier)):
            assert (found.id, found.scope, found.text, found.metadata) == (id_, scope, text, given)
        assert user.forget(id_, tier) == 1


class TestApart:
    @quick
    @given(pairs, st.sampled_from(TIERS))
    @example(("caf\u00e9", "cafe\u0301"), "semantic")
    def test_scopes(self, fresh, pair, tier):
        """Two scopes stay apart in every read, in overwriting, in counting and in forgetting."""
        mem = fresh()
        one, other = (mem.scoped(each) for each in pair)
        one.remember("exact", tier=tier, id="x")
        assert other.recall("q", threshold=-1) == other.list(tier).items == []
        assert (other.get("x", tier), other.count(), other.forget("x", tier), other.clear()) == (None, 0, 0, 0)
        other.remember("near", tier=tier, id="x")
        assert one.get("x", tier).text == "exact"
        assert [(hit.text, hit.scope) for hit in one.recall("q", threshold=-1)] == [("exact", pair[0])]
        assert set(mem.scopes().items) == set(pair)
        assert other.clear() == 1
        assert (one.count(), other.count(), mem.count()) == (1, 0, 0)

    @quick
    @given(pairs, st.sampled_from(TIERS))
    def test_ids(self, fresh, pair, tier):
        """Two ids of a scope stay apart in every read, in overwriting, in counting and in forgetting."""
        mem = fresh()
        first, second = pair
        mem.remember("exact", tier=tier, id=first)
        assert mem.get(second, tier) is None
        mem.remember("near", tier=tier, id=second)
        assert mem.get(first, tier).text == "exact"
        assert (mem.count(tier), mem.forget(second, tier), mem.count(tier)) == (2, 1, 1)
        assert [hit.id for hit in mem.recall("q", threshold=-1)] == [first]


class TestDigests:
    parts = st.lists(st.none() | st.text(unicode, max_size=5), max_size=4)

    @settings(max_examples=500, deadline=None, derandomize=True)
    @given(parts, parts)
    def test_injective(self, first, second):
        """Different parts have different digests: absent and empty, joined and separate never meet."""
        assert (scope.digest(*first) == scope.digest(*second)) is (first == second)

    @settings(max_examples=300, deadline=None, derandomize=True)
    @given(st.none() | st.text(unicode, min_size=1))
    def test_members(self, name):
        """A scope is read back from its place among the scopes as it was."""
        assert decode_scope(encode_scope(name)) == name


class TestBatches:
    @quick
    @given(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.sampled_from(TIERS), st.sampled_from(["x", "y"]), contents), max_size=8
        )
    )
    def test_as_one_by_one(self, open_memory, namespace, rows):
        """A batch leaves what its items leave when they are remembered one by one."""
        number = next(_numbers)
        at_once, one_by_one = (open_memory(namespace=f"{namespace}-{number}-{kind}") for kind in "ab")
        items = [MemoryItem(text, tier, id=id_, scope=scope) for scope, tier, id_, text in rows]
        outcomes = at_once.remember(items)
        assert outcomes == [outcome for item in items for outcome in one_by_one.remember(item)]
        for scope_name in "ab":
            for tier in TIERS:
                ours, theirs = (mem.scoped(scope_name).list(tier).items for mem in (at_once, one_by_one))
                assert [(m.id, m.text, m.uses) for m in ours] == [(m.id, m.text, m.uses) for m in theirs]
        for mem in (at_once, one_by_one):
            mem.clear()
            mem.close()


_numbers = count()
