"""Vectors of the documents of a scope: storing what jobs have made, searching by them, and looking after the index.

A namespace has one embedder, and so one dimension: that of every vector in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import Keyspace, ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import IndexUnavailable
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask, opened
from tiered_memory.store.blobs import any_vector, decode, encode
from tiered_memory.store.bound import Bound
from tiered_memory.store.hits import Found, check_fields, check_hits
from tiered_memory.store.items import Delivery, check_document_uri
from tiered_memory.store.layers import delivery
from tiered_memory.store.living import SCORE, by_similarity, living
from tiered_memory.store.nodes import check_batch
from tiered_memory.store.queue import number_of
from tiered_memory.store.tree import address
from tiered_memory.store.uri import ROOT, Uri, parse

Founds: TypeAlias = "list[Found]"

_STEP = 500
"""How many documents, or rows of the index, one script looks at, so that it never holds up the server for long."""


@frozen
class VectorStats:
    """What of a scope's documents can be found by their vectors.

    Attributes:
        available: Whether the index can be searched at all.
        vectors: How many rows of documents in use have a vector; None while the index can't be searched.
        documents: How many documents there are.
        reclaimable: How many rows of the index are no document any more: no search shows them, but they take room. None
            while the index can't be searched.
    """

    available: bool
    vectors: int | None
    documents: int
    reclaimable: int | None


class VectorOperations(Bound):
    """The vectors of the documents of one scope."""

    @operation
    def store(self, job_id: int, uri: str, blob: bytes) -> Plan[Delivery]:
        """Stores the vector that a job has made of a document, and completes the job, in one step.

        The result is discarded when the document is gone, or when its content isn't the one that the job was for.

        Args:
            job_id: The job.
            uri: The document that it was for.
            blob: The vector as the bytes of its float32 numbers, as many as the embedder's dimensions.

        Raises:
            InvalidDim: These are no bytes of a vector; the job isn't completed.
            DimMismatch: The vector has another length; the job isn't completed.
            InvalidInput: The job is one of another URI.
        """
        parsed = check_document_uri(uri)
        keyspace = yield from opened()
        vector = encode(blob, self._runner.embedder.dimensions, keyspace.numbers)
        return (yield from store_vector(keyspace, self._scope, job_id, parsed, vector))

    @operation
    def search(
        self, query: bytes, top_k: int = 10, under: str | None = None, fields: Iterable[str] | None = None
    ) -> Plan[Founds]:
        """The documents in use whose vectors are nearest to one, by cosine, then by URI.

        Args:
            query: The vector as the bytes of its float32 numbers.
            top_k: How many at the most, up to 200.
            under: The URI that they are or lie below; None: the whole tree.
            fields: Which of `content`, `abstract`, `overview` and `score` are read; None: all of them. The score is the
                cosine in [-1, 1].

        Raises:
            InvalidDim: The query is no vector.
            DimMismatch: It has another length than those that are stored.
            InvalidLimit: `top_k` is out of its range.
            InvalidField: A field is none of these, or `uri`, which always comes.
            InvalidURI: `under` isn't a URI.
            NotFound: Nothing stands at `under`.
            IndexUnavailable: The search index is gone; the next call makes it anew.
        """
        within, wanted = parse(under or ROOT), check_fields(fields, SCORE)
        check_hits(top_k, "top_k")
        keyspace = yield from opened()
        keys = keyspace.of(self._scope)
        vector = (keyspace.vector, encode(query, self._runner.embedder.dimensions, keyspace.numbers))
        return (yield from living(keys, within, wanted, top_k, by_similarity(keys, within, vector)))

    @operation
    def load(self, uris: Iterable[str]) -> Plan[dict[str, bytes]]:
        """The vectors of up to `MAX_BATCH` URIs, as bytes of float32 numbers; without those that have none.

        Reads what is stored, and never embeds anything. Raises `InvalidURI` or `InvalidLimit`.
        """
        wanted = list(dict.fromkeys(parse(uri) for uri in uris))
        check_batch(len(wanted))
        keyspace = yield from opened()
        keys = keyspace.of(self._scope)
        (found,) = yield from ask(call("tree_get", keys.scopes, (*address(keys), "", 1, keyspace.vector, *wanted)))
        return {
            str(uri): decode(row[3][0], keyspace.numbers)
            for uri, row in zip(wanted, found, strict=True)
            if row and row[0] == b"doc" and row[3][0] is not None
        }

    @operation
    def stats(self) -> Plan[VectorStats]:
        """How much of what is stored can be found by vectors."""
        keyspace = yield from opened()
        keys = keyspace.of(self._scope)
        (documents,) = yield from ask(("ZCARD", keys.key("documents", "tree")))
        vector = any_vector(self._runner.embedder.dimensions, keyspace.numbers)
        arguments = (*address(keys), keys.index, keyspace.vector, vector)
        try:
            ((vectors, indexed, in_use),) = yield from ask(call("vectors_stats", keys.scopes, arguments))
            # where there are as many rows as documents, none needs to be looked at
            strays = 0 if indexed == in_use else (yield from _strays(keys))
        except IndexUnavailable:
            return VectorStats(False, None, documents, None)
        return VectorStats(True, vectors, documents, strays)

    @operation
    def reclaimable(self) -> Plan[int]:
        """How many rows of the index are no document of the tree any more; looks at each, and changes nothing."""
        return (yield from _strays((yield from self._keys())))

    @operation
    def reclaim(self) -> Plan[int]:
        """Drops the rows of the index that are no document of the tree any more; returns how many there were."""
        return (yield from _strays((yield from self._keys()), "drop"))

    @operation
    def backfill(self) -> Plan[int]:
        """Enqueues the embedding of every document that has no vector, unless that is under way; returns how many.

        Looks at all documents, some at a time; those without any text are left out.
        """
        keyspace = yield from opened()
        keys = keyspace.of(self._scope)
        after: str | None = ""
        total = 0
        while after is not None:
            arguments = (clock.now_micros(), *address(keys), keyspace.vector, after, _STEP)
            ((following, enqueued),) = yield from ask(call("vectors_backfill", keys.scopes, arguments))
            total += enqueued
            after = text(following) or None
        return total


def store_vector(keyspace: Keyspace, scope: str | None, job_id: int, uri: Uri, vector: bytes) -> Plan[Delivery]:
    """Stores a vector as the store keeps it, see `VectorOperations.store`."""
    keys = keyspace.of(scope)
    arguments = (clock.now_micros(), *address(keys), number_of(keys, job_id), uri, keyspace.vector, vector)
    (reply,) = yield from ask(call("vectors_store", keys.scopes, arguments), repeatable=False)
    return delivery(reply, job_id, uri)


def _strays(keys: ScopeKeys, then: str = "") -> Plan[int]:
    """How many rows of the index are no document."""
    total = offset = 0
    while offset >= 0:
        arguments: tuple[Any, ...] = (*address(keys), keys.index, offset, _STEP, then)
        ((offset, strays),) = yield from ask(call("vectors_reclaim", keys.scopes, arguments))
        total += strays
    return total


class Vectors(VectorOperations, Blocking):
    """The vectors of the documents of one scope."""


class AsyncVectors(VectorOperations, NonBlocking):
    """The vectors of the documents of one scope."""
