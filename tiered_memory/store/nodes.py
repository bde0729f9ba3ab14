"""Reading and writing nodes of a tree, several in one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from tiered_memory import clock
from tiered_memory.assertions.fields import as_written
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import InvalidInput, InvalidLimit, TooLarge
from tiered_memory.plan import Plan, ask
from tiered_memory.store.items import Document, JobRequest, Node, Written, content_hash
from tiered_memory.store.queue import job_arguments, job_id
from tiered_memory.store.tree import LAYERS, Argument, address, conflict, document_arguments
from tiered_memory.store.uri import Uri

MAX_BATCH = 1000
"""The most documents that one `put_many` writes, or one `get_many` reads."""

MAX_BATCH_BYTES = 64 * 1024 * 1024
"""The most content that one `put_many` writes, in bytes of UTF-8."""

_FIELDS = (
    "text", "created_at", "updated_at", "content_hash", "abstract", "overview", "abstract_of", "overview_of",
)  # fmt: skip


def check_batch(count: int) -> None:
    """Refuses more documents than one step should hold the server up for."""
    if count > MAX_BATCH:
        raise InvalidLimit(f"{count} documents are more than the {MAX_BATCH} of one call; call several times")


def check_documents(documents: Sequence[Document]) -> None:
    """Refuses a batch that is too large, or has a URI twice."""
    check_batch(len(documents))
    seen: set[Uri] = set()
    for place, document in enumerate(documents):
        if not isinstance(document, Document):
            raise InvalidInput(f"document {place} must be a Document, not {type(document).__name__}")
        if document.uri in seen:
            raise InvalidInput(f"document {place} has the URI {document.uri!r} of another one of the batch")
        seen.add(document.uri)
    size = sum(len(document.content.encode()) for document in documents)
    if size > MAX_BATCH_BYTES:
        raise TooLarge(f"the documents are {size} bytes long; at most {MAX_BATCH_BYTES} are allowed in one call")


def read_nodes(keys: ScopeKeys, uris: Sequence[Uri]) -> Plan[list[Node | None]]:
    """What stands at each URI, or None."""
    arguments: tuple[Argument, ...] = (*address(keys), "", len(_FIELDS), *_FIELDS, *uris)
    (found,) = yield from ask(call("tree_get", keys.scopes, arguments))
    with as_written():
        return [_node(uri, row) for uri, row in zip(uris, found, strict=True)]


def put_documents(keys: ScopeKeys, documents: Sequence[Document]) -> Plan[list[Written]]:
    """Writes documents and their jobs, all of them or none."""
    hashes = [content_hash(document.content) for document in documents]
    work = [
        fenced(job, document.uri, own) for document, own in zip(documents, hashes, strict=True) for job in document.jobs
    ]
    arguments = (clock.now_micros(), *address(keys), *document_arguments(keys, documents), *job_arguments(work))
    (reply,) = yield from ask(call("tree_put", keys.scopes, arguments), repeatable=not work)
    if reply[0] == b"kind_conflict":
        raise conflict(text(reply[1]))
    _, outcomes, numbers = reply
    ids = iter([job_id(keys, number) for number in numbers])
    return [
        Written(document.uri, text(outcome), own, tuple(islice(ids, len(document.jobs))))  # type: ignore[arg-type]
        for document, own, outcome in zip(documents, hashes, outcomes, strict=True)
    ]


def fenced(job: JobRequest, uri: Uri, own_hash: str) -> JobRequest:
    """A job of a document that knows for which content it is, so that its result isn't stored with any other."""
    kind, payload = job
    return (kind, {"uri": uri, "content_hash": own_hash, **payload}) if isinstance(payload, Mapping) else job


def _node(uri: Uri, row: Sequence[Any]) -> Node | None:
    """A node from its kind, state and group, and a document's fields or the time when a directory was made."""
    if not row:
        return None
    kind, enabled, group, values = row
    own: dict[str, Any] = {"uri": uri, "enabled": bool(enabled), "group": text(group)}
    if kind == b"dir":
        made = clock.from_micros(int(values))
        return Node(kind="dir", created_at=made, updated_at=made, **own)
    return Node(kind="doc", **_document(dict(zip(_FIELDS, values, strict=True))), **own)


def _document(fields: dict[str, Any]) -> dict[str, Any]:
    """What a document's node says, from the fields of its record."""
    content = text(fields["text"])
    own_hash = text(fields["content_hash"] or content_hash(content))
    layers: dict[str, str | None] = {layer: None if fields[layer] is None else text(fields[layer]) for layer in LAYERS}
    made_for = {layer: text(fields[f"{layer}_of"] or "") for layer in LAYERS}
    return {
        "content": content,
        "created_at": clock.from_micros(int(fields["created_at"])),
        "updated_at": clock.from_micros(int(fields["updated_at"])),
        "content_hash": own_hash,
        "stale": frozenset(layer for layer in LAYERS if layers[layer] is not None and made_for[layer] != own_hash),
        **layers,
    }
