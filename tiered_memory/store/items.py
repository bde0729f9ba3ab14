"""What goes into the tree and what comes out of it: documents to write, nodes, hits, listings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, TypeAlias, TypeVar

from attrs import field, frozen
from attrs.converters import optional

from tiered_memory.errors import InvalidInput, IsRoot, TooLarge
from tiered_memory.items import Page
from tiered_memory.scope import utf8
from tiered_memory.store.uri import Uri, parse

T = TypeVar("T")

MAX_CONTENT_BYTES = 10 * 1024 * 1024
"""The longest content of a document, in bytes of UTF-8."""

MAX_LAYER_BYTES = 1024 * 1024
"""The longest abstract or overview, in bytes of UTF-8."""

LayerName: TypeAlias = Literal["abstract", "overview"]
"""The layers above a document's content: the shortest, and a longer one."""

Kind: TypeAlias = Literal["doc", "dir"]
"""What stands at a URI: a document or a directory."""

JobRequest: TypeAlias = "tuple[str, Mapping[str, Any]]"
"""Work that a write asks for: its kind, and a payload of JSON values."""


def check_document_uri(uri: object) -> Uri:
    """`uri` as a value, if a document can stand there; raises `InvalidURI` or `IsRoot`."""
    parsed = parse(uri)
    if not parsed.path:
        raise IsRoot("the root of the tree is a directory; name a URI below it")
    return parsed


def check_content(text: object, name: str = "content", most: int = MAX_CONTENT_BYTES) -> str:
    """`text` itself, valid Unicode of at most `most` bytes of UTF-8; raises `InvalidInput` or `TooLarge`."""
    if not isinstance(text, str):
        raise InvalidInput(f"{name} must be a str, not {type(text).__name__}; decode bytes first")
    size = len(utf8(text, InvalidInput, name))
    if size > most:
        raise TooLarge(f"{name} is {size} bytes long; at most {most} are allowed")
    return text


def check_layer(text: object) -> str:
    """`text` itself, as `check_content`, of at most `MAX_LAYER_BYTES`."""
    return check_content(text, "a layer", MAX_LAYER_BYTES)


def content_hash(content: str) -> str:
    """The SHA-256 of a content's UTF-8, in hexadecimal digits."""
    return sha256(content.encode()).hexdigest()


def check_jobs(jobs: Iterable[JobRequest]) -> tuple[JobRequest, ...]:
    """`jobs` themselves, each a pair; raises `InvalidInput`."""
    given = tuple(jobs)
    for job in given:
        if not isinstance(job, tuple | list) or len(job) != 2:
            raise InvalidInput(f"a job must be a pair of its kind and its payload, not {type(job).__name__}")
    return given


@frozen
class Document:
    """A document to write.

    Attributes:
        uri: Where it stands, below the root.
        content: Its full text, which may be any Unicode, NULs included.
        abstract: A line about it that the caller supplies; None keeps what is stored, the empty text drops it.
        overview: The same for a paragraph about it.
        jobs: What must be done for this write, as pairs of kind and payload.

    Raises:
        InvalidURI: The URI isn't one.
        IsRoot: It is the root.
        InvalidInput: A text isn't a str, or has a lone surrogate.
        TooLarge: The content, or a layer, is too long.
    """

    uri: Uri = field(converter=check_document_uri)
    content: str = field(converter=check_content, repr=False)
    abstract: str | None = field(default=None, converter=optional(check_layer), kw_only=True, repr=False)
    overview: str | None = field(default=None, converter=optional(check_layer), kw_only=True, repr=False)
    jobs: tuple[JobRequest, ...] = field(default=(), converter=check_jobs, kw_only=True, repr=False)


@frozen
class Written:
    """What became of a document.

    Attributes:
        uri: Where it stands.
        outcome: Whether nothing stood there before.
        content_hash: What tells its content from any other.
        jobs: The ids of its jobs, in their order.
    """

    uri: Uri
    outcome: Literal["created", "replaced"]
    content_hash: str
    jobs: tuple[int, ...] = ()


@frozen(kw_only=True)
class Node:
    """What stands at a URI.

    Attributes:
        uri: Where it stands.
        kind: `doc` or `dir`.
        content: A document's full text; None for a directory.
        abstract: The stored abstract, or None.
        overview: The stored overview, or None.
        enabled: Whether neither it nor a directory above is switched off.
        group: Its group's tag, its own or the nearest one above; empty without one.
        created_at: When something was first written there.
        updated_at: When it was last written.
        content_hash: The SHA-256 of a document's content; None for a directory.
        stale: The stored layers that were made for another content.
    """

    uri: Uri
    kind: Kind
    content: str | None = field(default=None, repr=False)
    abstract: str | None = field(default=None, repr=False)
    overview: str | None = field(default=None, repr=False)
    enabled: bool = True
    group: str = ""
    created_at: datetime
    updated_at: datetime
    content_hash: str | None = None
    stale: frozenset[LayerName] = frozenset()

    @property
    def name(self) -> str:
        """The last segment of its URI."""
        return self.uri.name

    @property
    def parent(self) -> Uri | None:
        """The URI above; None for the root."""
        return self.uri.parent


@frozen
class StoredLayers:
    """The layers of a document as they are stored.

    Attributes:
        abstract: The abstract, or None.
        overview: The overview, or None.
        stale: Those that were made for another content than what stands there now.
        supplied: Those that a caller supplied, which no job's result takes the place of.
    """

    abstract: str | None
    overview: str | None
    stale: frozenset[LayerName]
    supplied: frozenset[LayerName]


@frozen
class Delivery:
    """What became of a job's result.

    Attributes:
        outcome: Whether it was stored; the job is completed either way.
        reason: Why it wasn't wanted: the job is `cancelled` or done, the document is `gone`, its content has
            `changed` since, or a caller has `supplied` the layer. Empty if it was stored.
    """

    outcome: Literal["stored", "discarded"]
    reason: str = ""


@frozen
class Row:
    """A document in a listing.

    Attributes:
        uri: Where it stands.
        enabled: Whether neither it nor a directory above is switched off.
        group: Its group's tag.
    """

    uri: Uri
    enabled: bool
    group: str


@frozen
class CountedPage(Page[T]):
    """A page that knows how many there are in all.

    Attributes:
        total: How many the listing has, whatever page is read.
    """

    total: int


@frozen
class TreeStats:
    """What a scope's tree holds.

    Attributes:
        documents: How many documents.
        directories: How many directories, the root included.
        by_top_subtree: How many documents by the first segment of their URIs.
        db_bytes: None: there is no single file of a database.
        wal_bytes: None: nor one of a log.
    """

    documents: int
    directories: int
    by_top_subtree: dict[str, int]
    db_bytes: int | None = None
    wal_bytes: int | None = None
