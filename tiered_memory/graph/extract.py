"""What finds entities in texts: the contract, a chain of several, and one for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from tiered_memory.graph.entities import EntityRef, check_entities


@runtime_checkable
class EntityExtractor(Protocol):
    """Finds the entities that a text is about.

    One that waits for something should have `aextract` too, a coroutine function that takes and returns the same.
    """

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints in their order, then what is found in the order of the text; each entity once."""
        ...


def merged(hints: Iterable[EntityRef], found: Iterable[EntityRef]) -> list[EntityRef]:
    """The hints, then what was found, each entity once."""
    return list(dict.fromkeys((*hints, *found)))


async def aextract(extractor: EntityExtractor, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
    """What the extractor finds, by its `aextract` if it has one."""
    extract = getattr(extractor, "aextract", None)
    return extractor.extract(text, hints) if extract is None else await extract(text, hints)  # type: ignore[no-any-return]


class ChainExtractor:
    """Several extractors, one after the other, until one finds something; or all of them.

    Hints go into the answer, and don't count as found. What an extractor raises is raised.

    Args:
        extractors: The cheapest first.
        all_of_them: Whether each is asked, and what they find is put together.
    """

    def __init__(self, *extractors: EntityExtractor, all_of_them: bool = False) -> None:
        self.extractors, self.all_of_them = extractors, all_of_them

    def __repr__(self) -> str:
        return f"ChainExtractor({', '.join(map(repr, self.extractors))})"

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints, then what the first extractor that finds anything finds, or what all do."""
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
        return self.all_of_them or not found


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
