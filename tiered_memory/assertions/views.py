"""Memories whose ids are URIs of memories are documents of the tree, too: views of what is remembered there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from tiered_memory.assertions.keeping import Keeping
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.store.items import content_hash
from tiered_memory.store.memory_uris import memory_type
from tiered_memory.store.queue import job_arguments
from tiered_memory.store.tree import address, folded, under
from tiered_memory.store.uri import Uri, parse

Work: TypeAlias = "Sequence[tuple[str, Mapping[str, Any]]]"
"""Jobs, as pairs of kind and payload."""


def view_uri(keeping: Keeping, id: str) -> Uri | None:
    """The URI at which a memory of this id and tier is a document, or None where it is none."""
    if not keeping.types or memory_type(id) not in keeping.types:
        return None
    return parse(id)


def document_fields(uri: Uri, text: str) -> dict[str, str]:
    """What a memory's record has beside its own fields, so that it is found as a document."""
    fields = {"uri": uri, "under": under(uri), "content_hash": content_hash(text), "folded": folded(text)}
    return {name: value for name, value in fields.items() if value is not None}


def view_arguments(keys: ScopeKeys, views: Mapping[int, Uri], jobs: Mapping[int, Work], before: int) -> list[Any]:
    """What `views.lua` reads behind so many arguments: which items, by their places, are documents; and their jobs."""
    arguments: list[Any] = [*address(keys), len(views)]
    for place, uri in views.items():
        arguments += [place, uri, len(jobs.get(place, ()))]
    arguments += job_arguments([job for place in views for job in jobs.get(place, ())])
    return [*arguments, before + 1]
