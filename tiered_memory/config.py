"""The configuration: one class for the whole and one for each tier, validated on construction."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, fields_dict, frozen

from tiered_memory import settings
from tiered_memory.errors import ConfigError
from tiered_memory.settings import EmbedderDown, GraphMode, VectorType

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Embedder
    from tiered_memory.graph.extract import EntityExtractor
    from tiered_memory.items import MemoryItem, Mode
    from tiered_memory.rerank import Reranker
    from tiered_memory.tiers.base import Tier


@frozen(kw_only=True)
class WorkingConfig:
    """Working memory: recent notes of a run.

    Attributes:
        max_items: How many notes a scope keeps; the first one in is the first one out.
        idle: After how long without a new note a scope's notes are dropped; None: never.
    """

    max_items: int = field(default=100, converter=settings.max_items)
    idle: timedelta | None = field(default=None, converter=settings.idle)


@frozen(kw_only=True)
class DurableConfig:
    """What the tiers that are searched have in common.

    Attributes:
        threshold: The least cosine of a hit, in [-1, 1]; None: the embedder's floor, or 0.7 if it has none.
        max_items: How many active memories a scope keeps; the least retained go first. None: all of them.
        ttl: How long a memory is kept that doesn't say so itself, a time span or seconds; None: until it is
            forgotten.
    """

    threshold: float | None = field(default=None, converter=settings.threshold)
    max_items: int | None = field(default=None, converter=settings.durable_bound)
    ttl: timedelta | None = field(default=None, converter=settings.ttl)


@frozen(kw_only=True)
class SemanticConfig(DurableConfig):
    """Semantic memory: facts. Beside the settings of `DurableConfig`:

    Attributes:
        month: What a fact gains whose time lies in a month that the question names; 0 switches that off.
    """

    month: float = field(default=0.2, converter=settings.month)


@frozen(kw_only=True)
class EpisodicConfig(DurableConfig):
    """Episodic memory: events. Beside the settings of `DurableConfig`:

    Attributes:
        weight: The share of recency in the score, in [0, 1].
        half_life: The age at which recency has fallen to one half.
        neighbours: How much each neighbour in its `conversation` counts for a turn, by its own weight of 1; for this
            and what follows see `docs/ranking.md`. 0 switches a rule off.
        month: What an event gains that lies in a month which the question names.
        speaker: What a turn gains that was said by the only `speaker` whom the question names.
        question: What a turn loses that ends as a question does.
    """

    weight: float = field(default=0.3, converter=settings.weight)
    half_life: timedelta = field(default=timedelta(days=7), converter=settings.half_life)
    neighbours: float = field(default=1 / 3, converter=settings.neighbours)
    month: float = field(default=0.2, converter=settings.month)
    speaker: float = field(default=0.05, converter=settings.speaker)
    question: float = field(default=0.1, converter=settings.question)


@frozen(kw_only=True)
class ProceduralConfig(DurableConfig):
    """Procedural memory: how-tos. Beside the settings of `DurableConfig`:

    Attributes:
        weight: The share of reinforcement in the score, in [0, 1].
    """

    weight: float = field(default=0.3, converter=settings.weight)


@frozen(kw_only=True)
class GateConfig:
    """Which claims are sent to review by themselves, by the first of these rules that applies.

    Attributes:
        confidence_floor: Claims with less confidence than this wait.
        review_sources: Claims from these sources wait.
        rule: A rule of your own: the reason why an item waits, or None to let it pass.
        near_duplicate: Claims wait that are at least this near, as a cosine, to an active memory of another id
            in their tier. It costs a search before the write.
    """

    confidence_floor: float | None = field(default=None, converter=settings.floor)
    review_sources: frozenset[str] = field(default=frozenset(), converter=settings.sources)
    rule: Callable[[MemoryItem], str | None] | None = None
    near_duplicate: float | None = field(default=None, converter=settings.near)


def _extractor(value: Any) -> EntityExtractor:
    if value is not None:
        return value  # type: ignore[no-any-return]
    from tiered_memory.graph.patterns import PatternExtractor

    return PatternExtractor()


@frozen(kw_only=True)
class GraphConfig:
    """The graph of what memories are about: who finds their entities, and what recalls make of it.

    Attributes:
        extractor: What finds the entities of what is remembered; default: a `PatternExtractor`.
        asks: What finds those of a question; default: a `PatternExtractor`, since a recall shouldn't wait for a model.
        recall: What recalls do unless they say otherwise: nothing (`off`), `boost` what mentions the question's
            entities, or `filter` by it.
        walk: Whether a boost goes by personalised PageRank over the newest 5,000 nodes of the scope's graph, which
            each recall then reads; needs the extra `graph`.
        weight: How much a boost adds to relevance at the most, in [0, 1].
        least_hits: With how many memories a filter is content; with fewer, all are searched.
        background: Whether memories are indexed by a durable job, which `store.jobs.work` does, instead of at once.
    """

    extractor: EntityExtractor = field(default=None, converter=_extractor)
    asks: EntityExtractor = field(default=None, converter=_extractor)
    recall: GraphMode = field(default="boost", converter=settings.graph_mode)
    walk: bool = False
    weight: float = field(default=0.1, converter=settings.weight)
    least_hits: int = field(default=1, converter=settings.least_hits)
    background: bool = False


MEMORY_TYPES: Mapping[str, str] = {
    "profile": "semantic",
    "preferences": "semantic",
    "entities": "semantic",
    "events": "episodic",
    "experiences": "procedural",
}
"""The types of memories in the tree, and the tier of each."""

_MEMORY_TYPE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def _memory_types(value: Any) -> dict[str, str]:
    types = dict(value) if isinstance(value, Mapping) else {"": ""}
    for kind, tier in types.items():
        if not isinstance(kind, str) or not _MEMORY_TYPE.fullmatch(kind) or not isinstance(tier, str):
            raise ConfigError(f"memory_types={value!r} must map types (1 to 64 of A-Z a-z 0-9 _ . -) to tiers")
    return types


def _graph(value: Any) -> GraphConfig | None:
    return settings.section_of(GraphConfig, value)


@frozen(kw_only=True)
class MemoryConfig:
    """Everything that can be set; each setting has a default.

    Attributes:
        url: Where Redis is: `redis://`, `rediss://` (TLS), `unix://`, or
            `redis+sentinel://host:port,host:port/service`. A cluster is recognised by itself. Default: the
            environment's `REDIS_URL`, else an embedded server.
        client: Your own redis-py client instead of a URL, of the facade's mode (blocking or async). It is
            never closed by us.
        data_dir: The embedded server's folder; default: the user's data folder. `":temp:"` is thrown away.
        namespace: The first part of every key; what lies in two namespaces never meets.
        embedder: What turns texts into vectors; default: the offline `StaticEmbedder`.
        embedder_down: What happens while the embedder is out of reach: `raise`; or `defer`, by which memories are
            written without their vectors, which a durable job makes later, and recalls go by words.
        mode: What finds memories, unless a recall says otherwise: `vector`, `text`, or `hybrid`, which is both.
        diversity: How much hits are to differ from each other, in [0, 1], unless a recall says otherwise; 0: they
            are ordered by relevance alone.
        reranker: What puts the best hits in order in the end; default: nothing.
        reranked: How many of the best it is given.
        vectors: What vectors are made of: `float32`, or `float16`, which takes half the bytes. Fixed when the
            namespace is made, but for `reembed`.
        summarise: Makes a short text of a long one, for the context of sessions and the layers of documents; in an
            async memory it may be awaitable. Default: none.
        default_tier: Where an item without a tier goes.
        working: Settings of working memory, or None to switch it off; likewise the other tiers.
        semantic: Settings of semantic memory.
        episodic: Settings of episodic memory.
        procedural: Settings of procedural memory.
        gate: Which claims are sent to review by themselves; default: none.
        graph: Settings of the graph of what memories are about; None: memories aren't indexed by it.
        tiers: Tiers of your own, beside the four.
        memory_types: The types of memories whose ids are URIs below `viking://user/memories`, and the tier of each.
        partitions: In how many partitions scopes are spread; default: 1 on a single server, 64 on a cluster.
            Fixed when the namespace is made.
        timeout: Seconds that one answer of Redis may take.
        connect_timeout: Seconds that connecting may take.
        retries: How often a repeatable command is sent again when Redis is out of reach.
    """

    url: str | None = field(default=None, repr=False)
    client: Any = field(default=None, repr=False)
    data_dir: str | Path | None = None
    namespace: str = field(default="tiered-memory", converter=settings.namespace)
    embedder: Embedder | None = None
    embedder_down: EmbedderDown = field(default="raise", converter=settings.embedder_down)
    mode: Mode = field(default="hybrid", converter=settings.mode)
    diversity: float = field(default=0.0, converter=settings.diversity)
    reranker: Reranker | None = None
    reranked: int = field(default=20, converter=settings.reranked)
    summarise: Callable[[str], Any] | None = None
    vectors: VectorType = field(default="float32", converter=settings.vectors)
    default_tier: str = "semantic"
    working: WorkingConfig | None = settings.section(WorkingConfig)
    semantic: SemanticConfig | None = settings.section(SemanticConfig)
    episodic: EpisodicConfig | None = settings.section(EpisodicConfig)
    procedural: ProceduralConfig | None = settings.section(ProceduralConfig)
    gate: GateConfig = settings.section(GateConfig)
    graph: GraphConfig | None = field(default=None, converter=_graph)
    tiers: tuple[Tier, ...] = field(default=(), converter=tuple)
    memory_types: Mapping[str, str] = field(default=MEMORY_TYPES, converter=_memory_types)
    partitions: int | None = field(default=None, converter=settings.partitions)
    timeout: float = field(default=10.0, converter=settings.seconds)
    connect_timeout: float = field(default=5.0, converter=settings.seconds)
    retries: int = field(default=2, converter=settings.retries)

    def __attrs_post_init__(self) -> None:
        if self.url is not None and self.client is not None:
            raise ConfigError("url and client are both given; pass one of them")

    @classmethod
    def load(cls, given: object, overrides: Mapping[str, Any]) -> MemoryConfig:
        """The configuration from nothing, a URL, a mapping or a configuration, with `overrides` on top.

        Raises `ConfigError` for an unknown setting or a value out of its range.
        """
        if isinstance(given, MemoryConfig):
            chosen = {name: getattr(given, name) for name in fields_dict(cls)}
        elif isinstance(given, str):
            chosen = {"url": given}
        elif given is None or isinstance(given, Mapping):
            chosen = dict(given or {})
        else:
            raise ConfigError(f"a configuration can't be made from {type(given).__name__}")
        return settings.from_mapping(cls, chosen | dict(overrides))
