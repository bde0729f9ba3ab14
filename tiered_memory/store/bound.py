"""What the parts of a store have in common: a handle's runner and scope."""

from __future__ import annotations

from typing import Any, Protocol

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.plan import Plan, opened


class Handle(Protocol):
    """What is bound to a scope and runs plans."""

    _runner: Any
    _tiers: Any
    _scope: str | None


class Bound:
    """Works in the scope of the handle that it was made from, through its runner."""

    _runner: Any
    _tiers: Any
    _scope: str | None

    def __init__(self, handle: Handle) -> None:
        self._runner, self._tiers, self._scope = handle._runner, handle._tiers, handle._scope

    def __repr__(self) -> str:
        scope = "" if self._scope is None else f" of scope {self._scope!r}"
        return f"<{type(self).__name__}{scope} on {self._runner!r}>"

    def _keys(self) -> Plan[ScopeKeys]:
        return (yield from opened()).of(self._scope)
