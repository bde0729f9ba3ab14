"""Working memory: the recent notes of a run, newest first."""

from __future__ import annotations

from datetime import timedelta

from tiered_memory import ranking
from tiered_memory.assertions.fields import is_of
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import WorkingConfig
from tiered_memory.engine.reply import pairs
from tiered_memory.engine.scripts import call
from tiered_memory.plan import Plan, ask
from tiered_memory.tiers.base import Candidate, Found, Search, Tier


class WorkingTier(Tier):
    """Scored by place, 1 - i/n with the newest first; neither query nor threshold matter."""

    def __init__(self, config: WorkingConfig) -> None:
        idle = config.idle // timedelta(milliseconds=1) if config.idle else 0
        self.keeping = Keeping(name="working", notes=True, most=config.max_items, idle=idle)

    def recall(self, search: Search) -> Plan[Found]:
        """The scope's newest notes; of another time, or among ids, there are none."""
        if search.as_of is not None or search.among is not None:
            return Found(self, search, [])
        arguments = (search.now, *self.keeping.address(search.scope), "", search.k, "newest", "")
        ((_, found),) = yield from ask(call("page", search.scope.scopes, arguments), hurried=True)
        notes = [fields for fields in (pairs(each) for _, each in found) if is_of(fields, search.scope)]
        scores = (ranking.position(place, len(notes)) for place in range(len(notes)))
        return Found(self, search, [Candidate(*each, None, {}) for each in zip(notes, scores, strict=True)])
