"""A scope's tree as the scripts are told of it: its address, and documents as what they write."""

from __future__ import annotations

from collections.abc import Sequence

from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.errors import KindConflict, NotFound
from tiered_memory.store.items import Document, LayerName, content_hash
from tiered_memory.store.uri import Uri, token
from tiered_memory.terms import terms

MAX_TERMS = 32_768
"""How many characters of a content are found by their words; the others are found by substring, and read."""

LAYERS: tuple[LayerName, ...] = ("abstract", "overview")

Argument = str | bytes | int | float


def address(keys: ScopeKeys) -> tuple[str, str, str]:
    """What scripts need to find the tree of a scope, and what marks its documents in the index."""
    return keys.member, keys.token("tree"), keys.token("documents")


def document_arguments(keys: ScopeKeys, documents: Sequence[Document]) -> list[Argument]:
    """Documents as scripts read them."""
    arguments: list[Argument] = [len(documents)]
    for document in documents:
        fields = _fields(keys, document)
        given = {name: value for name, value in fields.items() if value is not None}
        dropped = [name for name, value in fields.items() if value is None]
        arguments += [document.uri, len(given)]
        for pair in given.items():
            arguments += pair
        arguments += [len(dropped), *dropped]
    return arguments


def _fields(keys: ScopeKeys, document: Document) -> dict[str, str | None]:
    """The fields that a write sets, or drops where they are None; what isn't named stays."""
    own_hash = content_hash(document.content)
    fields: dict[str, str | None] = {
        "uri": document.uri,
        "text": document.content,
        "content_hash": own_hash,
        "folded": folded(document.content),
        "terms": " ".join(terms(document.content[:MAX_TERMS])),
        "under": under(document.uri),
    }
    if keys.scope is not None:
        fields["scope"] = keys.scope
    for layer in LAYERS:
        text = getattr(document, layer)
        if text is not None:
            fields |= layer_fields(layer, text, own_hash, "caller")
    return fields


def layer_fields(layer: LayerName, text: str, made_for: str, by: str) -> dict[str, str | None]:
    """The fields of a layer; an empty one has none."""
    values = (text, folded(text), made_for, by) if text else (None,) * 4
    return dict(zip((layer, f"folded_{layer}", f"{layer}_of", f"{layer}_by"), values, strict=True))


def under(uri: Uri) -> str:
    """What marks a record as one at or below each of these URIs."""
    return ",".join(token(each) for each in uri.lineage)


def folded(text: str) -> str | None:
    """`text` without differences of case, where that is more than folding ASCII, which the server does itself."""
    if text.isascii():
        return None
    data = text.casefold()
    return None if data.encode() == text.encode().lower() else data


def conflict(uri: str) -> KindConflict:
    """The error for a document that can't stand at a URI."""
    return KindConflict(f"{uri!r} is a directory, or a memory, so that no document can be written there")


def missing(uri: str, what: str = "nothing stands") -> NotFound:
    """The error for a URI that lacks what is wanted there."""
    return NotFound(f"{what} at {uri!r}")
