"""Sentences about tickets, some of which nearly everything is about, and questions that name tickets."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from tiered_memory import MemoryItem
from tiered_memory.embedders.static import pieces
from tiered_memory.graph import EntityRef, IndexEntry

_TICKETS = (2, 6)
_WORDS = (5, 13)
"""How many tickets a fact mentions, and how many words it has: from the first number to below the second."""
_NAMED = 3
"""How many tickets a question names at the most."""


@frozen
class Size:
    """How much is stored and measured."""

    facts: int = 100_000
    entities: int = 20_000
    calls: int = 500
    recalls: int = 200


@frozen
class Question:
    """A question about a memory: naming tickets that it mentions, others that nothing mentions, and none."""

    about: str
    text: str
    unheard: str
    plain: str


@frozen
class Workload:
    """The tickets, the most frequent first; facts that mention them; and questions, by what they name."""

    entities: list[EntityRef]
    facts: list[IndexEntry]
    questions: dict[str, list[Question]]


def drawn(size: Size) -> Workload:
    """The same one each time; both tickets and words follow Zipf's law."""
    random = np.random.default_rng(0)
    entities = [ticket(number) for number in range(size.entities)]
    mentioned = _rows(random, size.entities, _TICKETS, size.facts)
    sentences = _sentences(random, size.facts)
    facts = [
        IndexEntry(f"{number:032x}", [entities[each] for each in tickets], " ".join(words))
        for number, (tickets, words) in enumerate(zip(mentioned, sentences, strict=True))
    ]
    return Workload(entities, facts, _questions(random, size, facts, mentioned))


def ticket(number: int) -> EntityRef:
    """The ticket that has this number; a question names it in upper case."""
    return EntityRef("Ticket", f"TICKET-{number}")


def item(fact: IndexEntry, name: str | None = None) -> MemoryItem:
    """The memory of a fact: its metadata names the tickets, its text doesn't."""
    named = [str(entity) for entity in fact.entities]
    return MemoryItem(fact.text, id=name or fact.memory_id, metadata={"entities": named})


def _rows(random: np.random.Generator, ranks: int, bounds: tuple[int, int], number: int) -> list[list[int]]:
    """So many rows of ranks, as long as the bounds say; each rank is drawn as often as Zipf's law has it."""
    shares = 1 / np.arange(1, ranks + 1)
    least, most = bounds
    rows = random.choice(ranks, (number, most - 1), p=shares / shares.sum())
    lengths = random.integers(least, most, number)
    return [row[:length].tolist() for row, length in zip(rows, lengths, strict=True)]


def _sentences(random: np.random.Generator, number: int) -> list[list[str]]:
    """Words that the default embedder knows, the most frequent ones of English first; none that names a ticket."""
    words = (piece for piece in pieces() if piece.isascii() and piece.isalpha())
    known = [word for word in words if len(word) > 2 and not word.startswith("ticket")]
    return [[known[rank] for rank in row] for row in _rows(random, len(known), _WORDS, number)]


def _questions(
    random: np.random.Generator, size: Size, facts: list[IndexEntry], mentioned: list[list[int]]
) -> dict[str, list[Question]]:
    """Questions that name one to three tickets of a fact: of the hundredth that is mentioned most, or rare ones."""
    hubs, rare = max(size.entities // 100, 1), size.entities // 10
    mixed = [fact for fact, numbers in enumerate(mentioned) if min(numbers) < hubs and max(numbers) >= rare]
    questions: dict[str, list[Question]] = {"hubs": [], "rare ones": []}
    for fact in random.choice(mixed, size.recalls):
        numbers = list(dict.fromkeys(mentioned[fact]))
        questions["hubs"].append(_question(facts[fact], [each for each in numbers if each < hubs], size.entities))
        questions["rare ones"].append(_question(facts[fact], [each for each in numbers if each >= rare], size.entities))
    return questions


def _question(fact: IndexEntry, numbers: list[int], unused: int) -> Question:
    def asked(first: int) -> str:
        names = " and ".join(f"TICKET-{first + number}" for number in numbers[:_NAMED])
        return f"What is there of {names} {about}"

    about = f"about {' and '.join(sorted(fact.text.split(), key=len)[-2:])}?"  # long words rarely say nothing
    return Question(fact.memory_id, asked(0), asked(unused), f"What is there {about}")
