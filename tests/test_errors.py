"""The tree of exceptions, which their module draws."""

from __future__ import annotations

import inspect

from tiered_memory import errors
from tiered_memory.errors import TieredMemoryError


def below(kind: type[TieredMemoryError]) -> list[type[TieredMemoryError]]:
    """An exception and all that derive from it."""
    return [kind, *(each for child in kind.__subclasses__() for each in below(child))]


OWN = [kind for kind in below(TieredMemoryError) if kind.__module__ == errors.__name__]


class TestTree:
    def test_is_drawn(self):
        """The module's docstring names every exception, under the one that it derives from."""
        path: list[str] = []
        for line in inspect.getdoc(errors).splitlines():
            depth, _, rest = line.rpartition("── ")
            name = rest.split()[0] if rest.split() else ""
            if hasattr(errors, name):
                path[len(depth) // 4 + bool(depth) :] = [name]
                assert issubclass(getattr(errors, name), getattr(errors, path[-2]) if depth else Exception)
        drawn = {word for line in inspect.getdoc(errors).splitlines() for word in line.split()}
        assert {kind.__name__ for kind in OWN} <= drawn

    def test_codes(self):
        """Each exception has a code of its own."""
        codes = [kind.code for kind in OWN]
        assert len(set(codes)) == len(codes)
