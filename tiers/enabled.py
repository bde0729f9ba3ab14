"""The tiers that a configuration switches on, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve

from tiered_memory.assertions.gate import Gate
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.config import MemoryConfig
from tiered_memory.errors import ConfigError, InvalidItem, UnknownTier
from tiered_memory.graph.weave import Weaver
from tiered_memory.items import MemoryItem
from tiered_memory.store.memory_uris import memory_type
from tiered_memory.tiers.base import Tier
from tiered_memory.tiers.episodic import EpisodicTier
from tiered_memory.tiers.procedural import ProceduralTier
from tiered_memory.tiers.semantic import SemanticTier
from tiered_memory.tiers.working import WorkingTier

BUILT_IN: dict[str, type[Tier]] = {
    "working": WorkingTier,
    "semantic": SemanticTier,
    "episodic": EpisodicTier,
    "procedural": ProceduralTier,
}


class Tiers:
    """The tiers of one memory, by name."""

    def __init__(self, config: MemoryConfig) -> None:
        built_in = {name: _made(tier, getattr(config, name)) for name, tier in BUILT_IN.items()}
        own = {tier.name: tier for tier in config.tiers}
        clashing = own.keys() & built_in.keys()
        if clashing:
            raise ConfigError(f"tiers={sorted(clashing)} have the names of built-in tiers; choose others")
        self._tiers = {name: tier for name, tier in (built_in | own).items() if tier is not None}
        self.memory_types = dict(config.memory_types)
        for tier in self:
            tier.keeping = _with_types(tier.keeping, self.memory_types)
        switched_off = [Keeping(name=name, notes=name == "working") for name, tier in built_in.items() if tier is None]
        self.everything = [tier.keeping for tier in self] + switched_off
        """All tiers that a scope may hold something in, those that are switched off now included."""
        self.gate = Gate(config.gate)
        self.default = self[config.default_tier].name
        self.mode = config.mode
        self.defers = config.embedder_down == "defer"
        self.weaver = None if config.graph is None else Weaver(config.graph, self.stating)
        self.reranker, self.reranked = config.reranker, config.reranked
        self.diversity = config.diversity

    def __iter__(self) -> Iterator[Tier]:
        return iter(self._tiers.values())

    def __getitem__(self, name: str) -> Tier:
        """The tier of that name; raises `UnknownTier`."""
        try:
            return self._tiers[name]
        except (KeyError, TypeError):
            off = " is switched off by the configuration" if name in BUILT_IN else " does not exist"
            raise UnknownTier(f"tier {name!r}{off}; there are: {', '.join(self._tiers)}") from None

    def home(self, name: str | None, id: str) -> Tier:
        """The tier of that name; without one that of the type of memory that the id is a URI of, else the default.

        Raises `UnknownTier`, or `InvalidItem` for a memory of a type that is kept in another tier.
        """
        kind = memory_type(id)
        wanted = None if kind is None else self.memory_types.get(kind)
        if name is not None and wanted is not None and name != wanted:
            raise InvalidItem(f"id={id!r} is a memory of type {kind!r}, which goes to tier {wanted!r}, not {name!r}")
        return self[(self.default if wanted is None else wanted) if name is None else name]

    def chosen(self, names: str | Sequence[str] | None) -> list[Tier]:
        """The tiers of these names, in their own order; all of them for None. Raises `UnknownTier`."""
        if names is None:
            return list(self)
        wanted = {self[name].name for name in ([names] if isinstance(names, str) else names)}
        return [tier for tier in self if tier.name in wanted]

    def words_of(self, item: MemoryItem) -> str:
        """The words by which an item of a tier is found: its text, where the tier is none of these."""
        tier = self._tiers.get(item.tier or self.default)
        return item.text if tier is None else tier.described(item)

    @property
    def stating(self) -> list[Keeping]:
        """All tiers whose memories may state facts of a graph, those that are switched off now included."""
        return [keeping for keeping in self.everything if not keeping.notes]

    @property
    def places(self) -> dict[str, int]:
        """The place of each tier, in which hits of equal score follow each other."""
        return {name: place for place, name in enumerate(self._tiers)}


def _with_types(keeping: Keeping, memory_types: Mapping[str, str]) -> Keeping:
    """How a tier keeps what it is given, and which types of memories that are URIs it has."""
    types = frozenset(kind for kind, tier in memory_types.items() if tier == keeping.name)
    if types and keeping.notes:
        raise ConfigError(f"memory_types={sorted(types)} can't go to tier {keeping.name!r}, which keeps notes")
    return evolve(keeping, types=types) if types != keeping.types else keeping


def _made(tier: type[Tier], config: object) -> Tier | None:
    return None if config is None else tier(config)  # type: ignore[call-arg]
