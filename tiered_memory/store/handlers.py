"""What a worker does with the jobs of documents: it embeds them, and summarises them when it is told how.

A result is stored only if the document still has the content that the job was for, and a layer only where no caller has
supplied one. Without a summariser nothing is stored, and reads go on with what stands in for a layer.
"""

from __future__ import annotations

from attrs import frozen

from tiered_memory.operation import Planned
from tiered_memory.plan import Plan, embed, opened
from tiered_memory.store.context import Summarise, summarised
from tiered_memory.store.documents import DocumentOperations
from tiered_memory.store.fallback import MOST
from tiered_memory.store.handling import FailJob, JobPlan
from tiered_memory.store.items import LayerName, Node
from tiered_memory.store.layers import LayerOperations
from tiered_memory.store.queue import Job
from tiered_memory.store.vectors import store_vector


class _Documents(DocumentOperations, Planned):
    def __init__(self, scope: str | None) -> None:
        self._scope = scope


class _Layers(LayerOperations, Planned):
    def __init__(self, scope: str | None) -> None:
        self._scope = scope


@frozen
class DocumentHandlers:
    """The plans for the kinds of jobs that writes of documents ask for."""

    summarise: Summarise | None

    @property
    def plans(self) -> dict[str, JobPlan]:
        """Each by its kind."""
        return {"embed": self.embed, "summarize_abstract": self.abstract, "summarize_overview": self.overview}

    def embed(self, job: Job) -> Plan[None]:
        """Stores the vector of a document's content; one that is blank gets none."""
        document = yield from _document(job)
        if document is None or not document.content or document.content.isspace():
            return
        (embedding,) = yield from embed([document.content])
        yield from store_vector((yield from opened()), job.scope, job.id, document.uri, embedding.vector)

    def abstract(self, job: Job) -> Plan[None]:
        """Stores the first line of a summary, of at most 280 characters."""
        made = yield from self._summary(job)
        if made:
            yield from _store(job, "abstract", made.split("\n", 1)[0][:MOST])

    def overview(self, job: Job) -> Plan[None]:
        """Stores a summary."""
        made = yield from self._summary(job)
        if made:
            yield from _store(job, "overview", made)

    def _summary(self, job: Job) -> Plan[str]:
        document = yield from _document(job)
        if document is None or not document.content or self.summarise is None:
            return ""
        return (yield from summarised(self.summarise, document.content)).strip()


def _document(job: Job) -> Plan[Node | None]:
    """The document that a job is for, if it still has the content that the job is for."""
    if job.uri is None:
        raise FailJob("invalid_payload", again=False)
    node = yield from _Documents(job.scope).get(job.uri)
    changed = node is not None and job.payload.get("content_hash") not in (None, node.content_hash)
    return None if changed else node


def _store(job: Job, layer: LayerName, text: str) -> Plan[None]:
    if text:
        yield from _Layers(job.scope).store(job.id, str(job.uri), layer, text)
