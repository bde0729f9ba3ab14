"""What the graph takes and gives: entries to index, facts, paths, and a view to browse."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias

from attrs import field, frozen
from attrs.converters import optional

from tiered_memory.checks import MAX_TEXT_BYTES, check_id
from tiered_memory.clock import utc
from tiered_memory.errors import InvalidItem
from tiered_memory.graph.entities import EntityRef, check_entities
from tiered_memory.scope import utf8


def _text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidItem(f"text must be a str, not {type(text).__name__}")
    if len(utf8(text, InvalidItem, "text")) > MAX_TEXT_BYTES:
        raise InvalidItem(f"text is longer than {MAX_TEXT_BYTES} bytes")
    return text


def _memory_id(value: object) -> str:
    return check_id(value, "memory_id")


def _valid_from(moment: datetime) -> datetime:
    return utc(moment, "valid_from")


@frozen
class IndexEntry:
    """A fact to index.

    Attributes:
        memory_id: The id of the memory that states it.
        entities: What it is about; none: nothing is indexed.
        text: The sentence, to show in a view; "" for none.
        valid_from: From when it holds, an aware time; None: from now, for the memory of a tier from its `at`, or as it
            stands. `known_epoch()`: always.
        tier: The tier in which that memory stands. The fact is the memory's then: it is closed when the memory is
            superseded, and goes when that goes; `text` is what the memory says, "" for whatever stands there. None:
            the fact is your own, whatever becomes of a memory.

    Raises:
        InvalidItem: A value can't be used; the message says which.
    """

    memory_id: str = field(converter=_memory_id)
    entities: tuple[EntityRef, ...] = field(converter=check_entities)
    text: str = field(default="", converter=_text, repr=False)
    valid_from: datetime | None = field(default=None, converter=optional(_valid_from))
    tier: str | None = None


@frozen(kw_only=True)
class Fact:
    """A fact: that a memory mentions some entities, when that held, and when we knew.

    Attributes:
        memory_id: The id of the memory that states it.
        tier: The tier in which that memory stands; None for a fact that was indexed without one.
        entities: What it mentions, in the order in which that was indexed.
        text: The sentence.
        valid_from: From when it holds.
        valid_to: When it ceases to hold, that moment excluded; None: not known to end.
        recorded_at: When it was indexed.
        expired_at: When it was closed, and `valid_to` became known; None: it is open.
    """

    memory_id: str
    tier: str | None
    entities: tuple[EntityRef, ...]
    text: str = field(repr=False)
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    expired_at: datetime | None


@frozen
class PathHop:
    """One step of a path: a fact that mentions an entity.

    Attributes:
        entity: The entity.
        memory_id: The id of the memory that states the fact.
    """

    entity: EntityRef
    memory_id: str


@frozen
class RetrievalPath:
    """How a fact was reached: from an entity that was asked for, by facts that mention two entities.

    Attributes:
        hops: From the entity that was asked for to the fact that was reached; one hop for a direct mention, two by way
            of a sibling. No hops: asked, and nothing found.
    """

    hops: tuple[PathHop, ...] = ()

    @property
    def entity(self) -> EntityRef | None:
        """The entity by which the fact was reached."""
        return self.hops[-1].entity if self.hops else None

    @property
    def memory_id(self) -> str | None:
        """The id of the memory that states the fact."""
        return self.hops[-1].memory_id if self.hops else None


Node: TypeAlias = "EntityRef | str"
"""An entity, or a fact by the id of its memory."""


@frozen
class GraphEdge:
    """An edge of a view.

    Attributes:
        kind: `mention`, from an entity to a fact, or `co-occurrence`, between two entities in their order.
        source: An entity.
        target: A fact's memory id, or the other entity.
        count: Of a co-occurrence: how many facts of the scope mention both, ended ones too. Of a mention: 1.
    """

    kind: Literal["mention", "co-occurrence"]
    source: EntityRef
    target: Node
    count: int = 1


@frozen
class GraphView:
    """A part of a scope's graph, to browse.

    Attributes:
        nodes: The facts, newest first and ended ones last, each followed by those of its entities that hadn't come yet.
        edges: Mentions, then co-occurrences, between nodes that are here.
        truncated: Whether the scope holds more nodes.
        texts: The sentence of each fact, by its memory's id.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    truncated: bool = False
    texts: Mapping[str, str] = field(factory=dict, repr=False)
