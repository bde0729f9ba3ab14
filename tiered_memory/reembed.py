"""Moving a namespace to another embedder, while others go on with the old one.

Every record gets a vector of the new embedder, in a field of its own; then that field is put in force, and the other
ones go. Nothing needs to be known of an earlier call that was interrupted: the index tells which records lack a vector.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeAlias

from attrs import define, field, frozen

from tiered_memory.assertions.fields import as_written
from tiered_memory.assertions.keeping import UNBOUNDED
from tiered_memory.config import MemoryConfig
from tiered_memory.embedders.base import Embedder
from tiered_memory.engine.index import NUMBERS, add_vector_fields, lacking
from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.engine.reply import pairs, strings, text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import EmbedderMismatch, EmbeddingError, StoreError
from tiered_memory.items import MemoryItem, Reembedded
from tiered_memory.plan import Embedding, Plan, ask, embed, opened
from tiered_memory.tiers.enabled import Tiers

Progress: TypeAlias = "Callable[[int, int], object]"
"""Is told how many records were embedded so far, and how many there are to embed."""

_BATCH = 256
"""How many records are read and embedded together."""

_BYTES = 1_000_000
"""After how many bytes of texts such a batch is full."""

_ROUNDS = 10
"""How often it is tried to switch when nothing at all lacks a vector; then a batch may be left for right afterwards."""

_RETIRED = 500
"""How many records one script takes old vectors off."""


def reembed(
    config: MemoryConfig, embedder: Embedder, tiers: Tiers, progress: Progress | None = None
) -> Plan[Reembedded]:
    """Embeds whatever has no vector of `embedder`, puts that one in force, and removes the vectors of others."""
    stood = yield from _found(config, embedder)
    vector = vector_field(embedder.id, config.vectors)
    keyspace = Keyspace(config.namespace, int(stood["partitions"]), vector, NUMBERS[config.vectors])
    partitions = range(keyspace.partitions)
    others = yield from add_vector_fields(keyspace, embedder.dimensions, config.vectors)
    filling = _Filling(keyspace, tiers, progress, (yield from lacking(keyspace)))
    shall = {"embedder": embedder.id, "dimensions": str(embedder.dimensions), "vectors": config.vectors}
    yield from _switch(filling, others[0], stood, shall)
    for partition in partitions[1:]:
        yield from _enter(keyspace, partition, others[partition], UNBOUNDED)
    removed = 0
    for partition in partitions:
        yield from filling.fill(partition)
        removed += yield from _retire(keyspace, partition, others[partition])
    return Reembedded(embedder.id, filling.memories, filling.documents, removed)


def _found(config: MemoryConfig, embedder: Embedder) -> Plan[dict[str, str]]:
    """What the namespace says about itself; it is made if it isn't there."""
    refusal = None
    try:
        yield from opened()
    except EmbedderMismatch as error:
        refusal = error
    (reply,) = yield from ask(("HGETALL", Keyspace(config.namespace, 1, "").meta))
    meta: dict[str, str] = strings(pairs(reply))
    if refusal and meta["embedder"] == embedder.id and meta["dimensions"] != str(embedder.dimensions):
        raise refusal  # vectors of one id go into one field, which has one dimension
    return meta


def _switch(filling: _Filling, others: Sequence[str], stood: dict[str, str], shall: dict[str, str]) -> Plan[None]:
    """Puts the embedder in force as soon as nothing lacks its vectors, whatever others write meanwhile."""
    for attempt in count():
        wordless = 0
        for partition in reversed(range(filling.keyspace.partitions)):
            wordless = yield from filling.fill(partition)
        left = wordless + (0 if attempt < _ROUNDS else _BATCH)
        outcome = yield from _enter(filling.keyspace, 0, others, left, stood, shall)
        if outcome == "moved":
            return
        if outcome == "another":
            raise StoreError(
                f"namespace {filling.keyspace.namespace!r} was moved to yet another embedder meanwhile, and stays there"
            )


def _enter(
    keyspace: Keyspace,
    partition: int,
    others: Sequence[str],
    left: int,
    stood: dict[str, str] | None = None,
    shall: dict[str, str] | None = None,
) -> Plan[str]:
    """Puts the vector field in force in a partition, if no more than `left` records lack it."""
    names = [keyspace.searched(partition, name) for name in others]
    expected = (stood["embedder"], stood["vectors"]) if stood else ("", "")
    given = [part for pair in {"vector": keyspace.vector, **(shall or {})}.items() for part in pair]
    own = (keyspace.index(partition), keyspace.vector, keyspace.searched(partition))
    arguments: list[str | int] = [*own, left, len(names), *names, *expected, *given]
    (outcome,) = yield from ask(call("reembed_switch", keyspace.scopes(partition), arguments))
    return text(outcome)


def _retire(keyspace: Keyspace, partition: int, others: Sequence[str]) -> Plan[int]:
    """Removes a partition's vectors of the other fields; answers how many records had some."""
    total = 0
    while others:
        arguments: list[str | int] = [keyspace.vector, keyspace.index(partition), _RETIRED, *others]
        (removed,) = yield from ask(call("reembed_retire", keyspace.scopes(partition), arguments))
        if not removed:
            break
        total += removed
    return total


@frozen
class _Record:
    """A record that lacks a vector.

    Attributes:
        key: Its key.
        state: What tells its words from any other.
        words: By what it is found.
        name: What it is called in errors.
        is_memory: Whether it is one, and not a document of its own.
    """

    key: bytes
    state: bytes
    words: str
    name: str
    is_memory: bool


@define
class _Filling:
    """Gives records vectors, and counts them."""

    keyspace: Keyspace
    tiers: Tiers
    progress: Progress | None
    total: int
    memories: int = field(default=0, init=False)
    documents: int = field(default=0, init=False)

    def fill(self, partition: int) -> Plan[int]:
        """Embeds what lacks a vector in a partition; answers how many records have no words to embed."""
        wordless, more = 0, 1
        while more:
            index = (self.keyspace.index(partition), self.keyspace.vector)
            arguments = (*index, wordless, _BATCH, _BYTES)
            ((more, rows),) = yield from ask(call("reembed_read", self.keyspace.scopes(partition), arguments))
            records = [record for row in rows if row[1:] and (record := self._record(*row)).words.strip()]
            wordless += len(rows) - len(records)
            if records:
                yield from self._store(partition, records)
        return wordless

    def _record(
        self,
        key: bytes,
        state: bytes,
        content: bytes,
        metadata: bytes,
        id: bytes | None,
        scope: bytes | None,
        token: bytes,
    ) -> _Record:
        if id is None:
            return _Record(key, state, text(content), f"document {text(key)}", is_memory=False)
        keys = self.keyspace.of(None if scope is None else text(scope))
        with as_written():
            item = MemoryItem(text(content), metadata=json.loads(metadata or b"{}"))
        homes = [tier for tier in self.tiers if keys.token(tier.name) == text(token)]
        words = homes[0].described(item) if homes else item.text
        return _Record(key, state, words, f"memory {text(id)!r} of scope {keys.scope!r}", is_memory=True)

    def _store(self, partition: int, records: Sequence[_Record]) -> Plan[None]:
        """Embeds records, and stores the vectors of those that have the same words still."""
        embeddings = yield from _embedded(records)
        arguments: list[str | bytes] = [self.keyspace.vector]
        for record, embedding in zip(records, embeddings, strict=True):
            arguments += [record.key, record.state, embedding.vector, "1" if embedding.cut else ""]
        (stored,) = yield from ask(call("reembed_store", self.keyspace.scopes(partition), arguments))
        memories = sum(record.is_memory for record in records if record.key in set(stored))
        self.memories += memories
        self.documents += len(stored) - memories
        done = self.memories + self.documents
        if self.progress:
            self.progress(done, max(done, self.total))


def _embedded(records: Sequence[_Record]) -> Plan[list[Embedding]]:
    """The embeddings of the words of records; a bad one names the record."""
    texts = list(dict.fromkeys(record.words for record in records))
    try:
        embeddings = dict(zip(texts, (yield from embed(texts)), strict=True))
    except EmbeddingError as error:
        if error.place is None:
            raise
        name = next(record.name for record in records if record.words == texts[error.place])
        raise EmbeddingError(f"{name}: {error}; change it or forget it, then call `reembed` again") from None
    return [embeddings[record.words] for record in records]
