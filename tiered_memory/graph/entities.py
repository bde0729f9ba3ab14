"""Entities: what facts are about, told apart by kind and name."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from datetime import datetime, timezone
from functools import lru_cache

from attrs import field, frozen

from tiered_memory.errors import InvalidItem
from tiered_memory.scope import utf8

KINDS = ("Ticket", "Policy", "Agent", "Member", "Concept", "Article", "Obligation", "Deadline")
"""The kinds that have a name of their own; any other kind is an `Other`."""

MAX_NAME_BYTES = 1024
"""The longest name of an entity, and four times the longest kind, in bytes of UTF-8."""

MAX_ENTITIES = 256
"""How many entities a fact may have."""

_KNOWN = {kind.lower(): kind for kind in KINDS}


class Other(str):
    """A kind of entity beside the known ones, such as `Other("person")`, in lower case.

    Raises `InvalidItem` for a text that is blank, too long, has a colon, or names one of `KINDS` in whatever case.
    """

    __slots__ = ()

    def __new__(cls, hint: str) -> Other:
        """The kind that `hint` names."""
        name = _folded(hint, "kind", MAX_NAME_BYTES // 4)
        if ":" in name:
            raise InvalidItem(f"kind={hint!r} has a colon")
        if name in _KNOWN:
            raise InvalidItem(f"kind={hint!r} is one of the known kinds; say {_KNOWN[name]!r}, without Other")
        return super().__new__(cls, name)


def _kind(kind: object) -> str:
    """A known kind as it is spelt in `KINDS`, or an `Other`."""
    if isinstance(kind, Other):
        return kind
    return _KNOWN.get(kind.strip().lower()) or Other(kind) if isinstance(kind, str) else Other(kind)  # type: ignore[arg-type]


def _name(name: object) -> str:
    return _folded(name, "name", MAX_NAME_BYTES)


def _folded(text: object, what: str, most: int) -> str:
    """`text` in lower case and composed form, with single spaces between its words."""
    if not isinstance(text, str):
        raise InvalidItem(f"{what} must be a str, not {type(text).__name__}")
    folded = " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower()).split())
    if not folded:
        raise InvalidItem(f"{what}={text!r} is blank")
    if any(unicodedata.category(each) == "Cc" for each in folded):
        raise InvalidItem(f"{what}={text!r} has a control character")
    if len(utf8(folded, InvalidItem, what)) > most:
        raise InvalidItem(f"{what} is longer than {most} bytes")
    return folded


@frozen(order=True)
class EntityRef:
    """An entity: the same kind and name are the same entity.

    Attributes:
        kind: One of `KINDS`, or another word for what it is, as `Other` has it.
        name: Its name, in lower case, with single spaces.

    Raises:
        InvalidItem: The kind or the name is blank, too long, or has a control character.
    """

    kind: str = field(converter=_kind)
    name: str = field(converter=_name)

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @classmethod
    def parse(cls, text: str) -> EntityRef:
        """The entity that is written as `kind:name`; raises `InvalidItem`."""
        return _parsed(text)


@lru_cache(maxsize=8192)  # what the graph keeps is read again and again, and checking it takes longest
def _parsed(text: str) -> EntityRef:
    kind, colon, name = text.partition(":")
    if not colon:
        raise InvalidItem(f"entity {text!r} must be written as kind:name, such as Ticket:ticket-1")
    return EntityRef(kind, name)


def check_entities(entities: object) -> tuple[EntityRef, ...]:
    """`entities`, each once, in their order; raises `InvalidItem` for anything but entities."""
    if isinstance(entities, str) or not isinstance(entities, Iterable):
        raise InvalidItem(f"entities must be several EntityRef, not {type(entities).__name__}")
    found = tuple(dict.fromkeys(_entity(each) for each in entities))
    if len(found) > MAX_ENTITIES:
        raise InvalidItem(f"{len(found)} entities are given; at most {MAX_ENTITIES} are allowed")
    return found


def _entity(value: object) -> EntityRef:
    if not isinstance(value, EntityRef):
        raise InvalidItem(f"entity {value!r} must be an EntityRef")
    return value


def known_epoch() -> datetime:
    """1970-01-01T00:00Z: the `valid_from` of what has always been so."""
    return datetime(1970, 1, 1, tzinfo=timezone.utc)
