"""What finds entities in texts: the contract, a chain of several, and one for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from inspect import isawaitable
from typing import Any, Protocol, runtime_checkable

from tiered_memory.graph.entities import EntityRef, check_entities


@runtime_checkable
class EntityExtractor(Protocol):
    """Finds the entities that a text is about.

    One that waits for something should have `aextract` too, a coroutine function that takes and returns the same.
    """

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints in their order, then what is found in the order of the text; each entity once.

        Under an async memory it may be awaitable.
        """
        ...


def merged(hints: Iterable[EntityRef], found: Iterable[EntityRef]) -> list[EntityRef]:
    """The hints, then what was found, each entity once."""
    return list(dict.fromkeys((*hints, *found)))


async def aextract(extractor: EntityExtractor, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
    """What the extractor finds: by its `aextract` if it has one, else off the event loop."""
    extract = getattr(extractor, "aextract", None)
    found: Any = await (asyncio.to_thread(extractor.extract, text, hints) if extract is None else extract(text, hints))
    return list(await found if isawaitable(found) else found)


class ChainExtractor:
    """Several extractors, one after the other: what they find is put together.

    Hints go into the answer, and keep no extractor from being asked. What an extractor raises is raised.

    Args:
        extractors: In the order in which they are asked.
        fallback: Whether one is asked only when those before it found nothing: put the cheapest first.
    """

    def __init__(self, *extractors: EntityExtractor, fallback: bool = False) -> None:
        self.extractors, self.fallback = extractors, fallback

    def __repr__(self) -> str:
        return f"ChainExtractor({', '.join(map(repr, self.extractors))})"

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints in their order, then what the extractors find, in their order; each entity once."""
        found: list[EntityRef] = []
        for each in self.extractors:
            if self._wants_more(found):
                found += each.extract(text)
        return merged(hints, found)

    async def aextract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The same as `extract`, without blocking where an extractor can."""
        found: list[EntityRef] = []
        for each in self.extractors:
            if self._wants_more(found):
                found += await aextract(each, text)
        return merged(hints, found)

    def _wants_more(self, found: list[EntityRef]) -> bool:
        return not (self.fallback and found)


class FixedExtractor:
    """Finds the same entities in every text, for tests; keeps the texts that it was given.

    Args:
        entities: What it finds.
    """

    def __init__(self, entities: Iterable[EntityRef] = ()) -> None:
        self.entities = check_entities(entities)
        self.texts: list[str] = []

    def __repr__(self) -> str:
        return f"FixedExtractor({list(map(str, self.entities))})"

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints, then its entities."""
        self.texts.append(text)
        return merged(hints, self.entities)
