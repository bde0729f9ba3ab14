"""What a worker does to embed memories that were written while the embedder was out of reach."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from attrs import frozen

from tiered_memory import clock
from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import EmbedderUnavailable, EmbeddingError
from tiered_memory.plan import Embedding, Plan, ask, embed, opened
from tiered_memory.scope import digest
from tiered_memory.store.handling import DeferJob, FailJob, memories_of
from tiered_memory.store.queue import Job

_ROUNDS = 10
"""How often a job looks again for what was changed meanwhile, before it is put off."""

_SHORTEST, _LONGEST = timedelta(seconds=1), timedelta(minutes=1)
"""For how long a job is put off while the embedder is out of reach: as long as it has waited, within these bounds."""


@frozen
class _Unembedded:
    """A record that lacks its vector: its number, its revision, and the words that are to be embedded."""

    number: bytes
    revision: bytes
    words: str


def embed_memories(job: Job) -> Plan[None]:
    """Embeds what is to be embedded at the ids of a job: what stands, stood, or waits there.

    While the embedder is out of reach the job is put off, which spends no attempt.
    """
    keeping, ids = _named(job)
    keyspace = yield from opened()
    keys = keyspace.of(job.scope)
    for _ in range(_ROUNDS):
        lacking = yield from _unembedded(keys, keeping, keyspace.vector, ids)
        if not lacking:
            return
        try:
            made = yield from _embeddings([each.words for each in lacking])
        except EmbedderUnavailable:
            raise DeferJob(_pause(job) // timedelta(milliseconds=1)) from None
        yield from _store(keys, keyspace.vector, lacking, made)
        for each in made:
            if isinstance(each, EmbeddingError):
                raise each
    raise DeferJob


def _named(job: Job) -> tuple[Keeping, list[str]]:
    """The tier and the ids that a job names; the tier needn't be one of this memory's own."""
    tier, ids = memories_of(job)
    try:
        return Keeping(name=tier), ids
    except ValueError:
        raise FailJob("invalid_payload", again=False) from None


def _unembedded(keys: ScopeKeys, keeping: Keeping, vector: str, ids: Sequence[str]) -> Plan[list[_Unembedded]]:
    arguments: list[str | int] = [clock.now_micros(), *keeping.address(keys), vector, *map(digest, ids)]
    (found,) = yield from ask(call("unembedded", keys.scopes, arguments))
    return [_Unembedded(number, revision, text(words)) for number, revision, raw, words in found if raw == keys.raw]


def _embeddings(words: Sequence[str]) -> Plan[list[Embedding | EmbeddingError]]:
    """The embedding of each text; or why it can't be embedded, which keeps back no other."""
    try:
        return [*(yield from embed(words))]
    except EmbedderUnavailable:
        raise
    except EmbeddingError as error:
        if len(words) == 1:
            return [error]
    alone: list[Embedding | EmbeddingError] = []
    for each in words:
        alone += yield from _embeddings([each])
    return alone


def _store(
    keys: ScopeKeys, vector: str, lacking: Sequence[_Unembedded], made: Sequence[Embedding | EmbeddingError]
) -> Plan[None]:
    """Stores the vectors of records that are still as they were when they were read."""
    arguments: list[str | bytes] = [vector]
    for record, each in zip(lacking, made, strict=True):
        if isinstance(each, Embedding):
            arguments += [record.number, record.revision, each.vector, "1" if each.cut else ""]
    yield from ask(call("embedded", keys.scopes, arguments))


def _pause(job: Job) -> timedelta:
    return min(max(clock.now() - job.queued_at, _SHORTEST), _LONGEST)
