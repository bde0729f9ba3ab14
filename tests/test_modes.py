"""Both modes are one API: the same operations, signatures and docstrings, blocking and awaited."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import tiered_memory
from tiered_memory import AsyncMemory, AsyncScopedMemory, Memory, ScopedMemory, async_memory, memory
from tiered_memory.operation import Blocking, NonBlocking, operation


def public(owner: type) -> dict[str, Any]:
    """The public attributes of a class by name."""
    return {name: inspect.getattr_static(owner, name) for name in dir(owner) if not name.startswith("_")}


def classes(mode: type) -> dict[str, type]:
    """The exported classes of a mode, by their names without the mode."""
    exported = [getattr(tiered_memory, name) for name in tiered_memory.__all__]
    found = [each for each in exported if isinstance(each, type) and issubclass(each, mode)]
    return {each.__name__.removeprefix("Async"): each for each in found}


PAIRS = [(each, classes(NonBlocking)[name]) for name, each in classes(Blocking).items()]


class TestPairs:
    def test_each_class_has_a_twin(self):
        """Every exported class of one mode has its twin in the other."""
        assert classes(Blocking).keys() == classes(NonBlocking).keys()
        assert {"Memory", "ScopedMemory"} <= classes(Blocking).keys()

    @pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
    def test_the_same_names(self, blocking, awaited):
        """What one twin can do the other can."""
        assert public(blocking).keys() == public(awaited).keys()

    @pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
    def test_written_once(self, blocking, awaited):
        """Every operation of both twins is the same object; all else binds, closes, or is a `with` statement."""
        twins = public(awaited)
        for name, attribute in public(blocking).items():
            if isinstance(attribute, operation):
                assert twins[name] is attribute
            else:
                assert isinstance(attribute, property) or name in {"scoped", "close", "turn"}

    @pytest.mark.parametrize(("blocking", "awaited"), PAIRS)
    def test_signatures_and_docstrings(self, blocking, awaited):
        """Twins agree in the parameters and the documentation of every method."""
        twins = public(awaited)
        for name, attribute in public(blocking).items():
            assert inspect.getdoc(attribute), f"{blocking.__name__}.{name} has no docstring"
            assert inspect.getdoc(twins[name]), f"{awaited.__name__}.{name} has no docstring"
            if name != "turn":
                assert inspect.getdoc(attribute) == inspect.getdoc(twins[name])
            if not isinstance(attribute, property):
                assert parameters(getattr(blocking, name)) == parameters(getattr(awaited, name))

    def test_scoped_handles_do_less(self):
        """A bound handle can do what the root can, except what leads out of its scope."""
        assert public(Memory).keys() - public(ScopedMemory).keys() == {
            "scoped", "scopes", "stats", "reembed", "erase", "close",
        }  # fmt: skip
        assert public(ScopedMemory).keys() <= public(Memory).keys()


def parameters(function: Any) -> list[inspect.Parameter]:
    """The parameters of a function, or of the method that an operation was made from."""
    return list(inspect.signature(inspect.unwrap(function)).parameters.values())


class TestFactories:
    def test_the_same_parameters(self):
        """`memory` and `async_memory` take the same."""
        assert parameters(memory) == parameters(async_memory)

    def test_what_they_make(self):
        """Each makes the root handle of its mode, without any I/O."""
        root, awaited = memory("redis://nowhere.invalid:1/0"), async_memory("redis://nowhere.invalid:1/0")
        assert (type(root), type(awaited)) == (Memory, AsyncMemory)
        assert (type(root.scoped("a")), type(awaited.scoped("a"))) == (ScopedMemory, AsyncScopedMemory)
        root.close()


class TestBoundMethods:
    @pytest.mark.parametrize("make", [memory, async_memory])
    def test_help(self, make):
        """On a handle, an operation shows its own name, signature and docstring."""
        handle = make("redis://nowhere.invalid:1/0")
        assert handle.recall.__name__ == "recall"
        assert "most relevant" in inspect.getdoc(handle.recall)
        named, bound = (inspect.signature(each.recall).parameters.keys() for each in (handle, handle.scoped("a")))
        assert named - bound == {"scope"}
        assert {"query", "k", "tier", "threshold"} <= bound <= named

    def test_repr(self):
        """A handle shows its scope and state in one line, and neither password nor text."""
        root = memory("redis://user:hunter2@nowhere.invalid:1/0", namespace="ns")
        assert "hunter2" not in repr(root)
        assert "hunter2" not in repr(root._runner.config)
        assert "ns" in repr(root)
        assert "'user:42'" in repr(root.scoped("user:42"))
        assert "\n" not in repr(root)
