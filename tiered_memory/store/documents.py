"""The documents of a scope's tree: writing, reading, listing, counting and removing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from tiered_memory.engine.scripts import call
from tiered_memory.errors import IsRoot
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import CountedPage, Document, JobRequest, Kind, Node, Row, Written
from tiered_memory.store.listing import (
    Filter,
    check_page,
    child_kinds,
    child_names,
    count_documents,
    list_documents,
)
from tiered_memory.store.nodes import check_batch, check_documents, put_documents, read_nodes
from tiered_memory.store.tree import address, missing
from tiered_memory.store.uri import ROOT, parse

# aliases, since in the class `list` is an operation
Nodes: TypeAlias = "list[Node | None]"
Names: TypeAlias = "list[str]"
Kinds: TypeAlias = "dict[str, Kind]"
Writes: TypeAlias = "list[Written]"


class DocumentOperations(Bound):
    """Documents and directories of one scope."""

    @operation
    def get(self, uri: str) -> Plan[Node | None]:
        """What stands at `uri`, a document or a directory, or None. Raises `InvalidURI`."""
        parsed = parse(uri)
        (node,) = yield from read_nodes((yield from self._keys()), [parsed])
        return node

    @operation
    def get_many(self, uris: Iterable[str]) -> Plan[Nodes]:
        """What stands at up to `MAX_BATCH` URIs, in their order, None where nothing does, in one round trip."""
        wanted = [parse(uri) for uri in uris]
        check_batch(len(wanted))
        return (yield from read_nodes((yield from self._keys()), wanted)) if wanted else []

    @operation
    def put(
        self,
        uri: str,
        content: str,
        *,
        abstract: str | None = None,
        overview: str | None = None,
        jobs: Iterable[JobRequest] = (),
    ) -> Plan[Written]:
        """Writes a document and its jobs in one step, with the directories above it that are missing.

        What was found by the old content isn't found any more: vectors go at once, and jobs that work on the old
        content have their results discarded.

        Args:
            uri: Where; a document that stands there is replaced, and stays switched off if it was.
            content: Its full text, of up to `MAX_CONTENT_BYTES`.
            abstract: The caller's own abstract; None keeps the one that is stored, the empty text drops it.
            overview: The caller's own overview, likewise.
            jobs: What must be done for it, as pairs of kind and payload; `uri` and `content_hash` are filled in.

        Raises:
            InvalidURI: The URI isn't one.
            IsRoot: It is the root.
            KindConflict: A directory, or a memory, stands there.
            TooLarge: The content, or a layer, is too long.
            InvalidPayload: A job's payload can't be kept as JSON.
            StoreError: Redis can't be reached, or refused. After any of these, nothing was written.
        """
        document = Document(uri, content, abstract=abstract, overview=overview, jobs=jobs)
        (written,) = yield from put_documents((yield from self._keys()), [document])
        return written

    @operation
    def put_many(self, documents: Iterable[Document]) -> Plan[Writes]:
        """Writes several documents and all their jobs in one step: all of them, or, whatever goes wrong, none.

        At most `MAX_BATCH` documents with `MAX_BATCH_BYTES` of content, each URI once. Raises what `put` raises, and
        `InvalidInput` when a URI comes twice.
        """
        chosen = list(documents)
        check_documents(chosen)
        return (yield from put_documents((yield from self._keys()), chosen)) if chosen else []

    @operation
    def children(self, uri: str = ROOT) -> Plan[Names]:
        """The names of what stands directly below a directory, in the order of their bytes.

        Raises:
            InvalidURI: The URI isn't one.
            NotFound: No directory stands there.
        """
        parsed = parse(uri)
        return (yield from child_names((yield from self._keys()), parsed))

    @operation
    def entries(self, uri: str = ROOT) -> Plan[Kinds]:
        """What stands directly below a directory, by name in the order of their bytes: `doc` or `dir`.

        Raises what `children` raises.
        """
        parsed = parse(uri)
        return (yield from child_kinds((yield from self._keys()), parsed))

    @operation
    def list(
        self,
        under: str = ROOT,
        limit: int = 100,
        offset: int = 0,
        filter: Mapping[str, Any] | Filter | None = None,
        *,
        cursor: str | None = None,
    ) -> Plan[CountedPage[Row]]:
        """A page of the documents at or below a URI, in the order of their URIs.

        Without `substring` and `group` a page costs the same wherever it begins and however many there are; with
        them all documents below are looked at.

        Args:
            under: Where.
            limit: How many at the most, up to `MAX_PAGE`.
            offset: How many to pass over.
            filter: Which of them, see `Filter`.
            cursor: The `cursor` of a page, to have the next one, whatever was written meanwhile.

        Raises:
            InvalidURI: The URI isn't one.
            InvalidLimit: `limit` or `offset` is out of its range.
            InvalidQuery: The filter, or the cursor, isn't one.
        """
        parsed, wanted = parse(under), Filter.of(filter)
        check_page(limit, offset, cursor, parsed)
        return (yield from list_documents((yield from self._keys()), parsed, wanted, limit, offset, cursor or ""))

    @operation
    def count(self, prefix: str = ROOT) -> Plan[int]:
        """How many documents stand at a URI or below it, those that are switched off included. Raises `InvalidURI`."""
        parsed = parse(prefix)
        return (yield from count_documents((yield from self._keys()), parsed))

    @operation
    def remove(self, uri: str) -> Plan[int]:
        """Removes what stands at a URI and all below it, from everything that is kept by URI, in one step.

        Documents, their vectors, jobs, commits and memories go; the directories above stay. Returns how many
        documents went.

        Raises:
            InvalidURI: The URI isn't one.
            IsRoot: It is the root.
            NotFound: Nothing stands there.
        """
        parsed = parse(uri)
        if not parsed.path:
            raise IsRoot("the root of the tree can't be removed; clear the scope, or remove what lies below it")
        keys = yield from self._keys()
        (removed,) = yield from ask(call("tree_remove", keys.scopes, (*address(keys), parsed)), repeatable=False)
        if removed < 0:
            raise missing(parsed)
        return int(removed)


class Documents(DocumentOperations, Blocking):
    """The documents and directories of one scope."""


class AsyncDocuments(DocumentOperations, NonBlocking):
    """The documents and directories of one scope."""
