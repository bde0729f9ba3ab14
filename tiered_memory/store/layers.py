"""The layers above a document's content: stored ones, what stands in for them, and results of jobs."""

from __future__ import annotations

from tiered_memory import clock
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import CorruptRecord, InvalidInput
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store import fallback
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import Delivery, LayerName, StoredLayers, check_document_uri, check_layer
from tiered_memory.store.queue import number_of
from tiered_memory.store.tree import LAYERS, address, folded, missing
from tiered_memory.store.uri import Uri

_HEAD = 64 * 1024
"""How many bytes of a content are read for what stands in for a layer."""


class LayerOperations(Bound):
    """The layers of the documents of one scope."""

    @operation
    def abstract(self, uri: str) -> Plan[str]:
        """A line about a document: the stored abstract, else what its front matter says, else its first line.

        What stands in for an abstract is at most 280 characters long. Raises `InvalidURI`, `IsRoot`, or `NotFound`
        when no document stands there.
        """
        return (yield from self._layer(check_document_uri(uri), "abstract"))

    @operation
    def overview(self, uri: str) -> Plan[str]:
        """A paragraph about a document: the stored overview, else the first 280 characters of its body.

        Raises what `abstract` raises.
        """
        return (yield from self._layer(check_document_uri(uri), "overview"))

    @operation
    def stored(self, uri: str) -> Plan[StoredLayers]:
        """The layers of a document as they are stored, nothing standing in for them. Raises what `abstract` raises."""
        names = [f"{layer}{part}" for layer in LAYERS for part in ("", "_of", "_by")]
        own_hash, *values = yield from self._fields(check_document_uri(uri), ("content_hash", *names))
        found = dict(zip(names, values, strict=True))
        held = [layer for layer in LAYERS if found[layer] is not None]
        abstract, overview = (None if found[layer] is None else text(found[layer]) for layer in LAYERS)
        return StoredLayers(
            abstract,
            overview,
            stale=frozenset(layer for layer in held if found[f"{layer}_of"] != own_hash),
            supplied=frozenset(layer for layer in held if found[f"{layer}_by"] == b"caller"),
        )

    @operation
    def store(self, job_id: int, uri: str, layer: LayerName, text: str) -> Plan[Delivery]:
        """Stores a layer that a job has made and completes the job, in one step.

        The result is discarded when the document is gone, when its content isn't the one that the job was for, or
        when a caller has supplied that layer.

        Args:
            job_id: The job.
            uri: The document that it was for.
            layer: `abstract` or `overview`.
            text: What the job has made.

        Raises:
            InvalidInput: There is no such layer, the text can't be stored, or the job is one of another URI.
        """
        parsed, made = check_document_uri(uri), check_layer(text)
        if layer not in LAYERS:
            raise InvalidInput(f"layer={layer!r} is none of {', '.join(LAYERS)}")
        if not made:
            raise InvalidInput(f"the {layer} is empty; fail the job instead")
        keys = yield from self._keys()
        number = number_of(keys, job_id)
        arguments = (clock.now_micros(), *address(keys), number, parsed, layer, made, folded(made) or "")
        (reply,) = yield from ask(call("tree_layer", keys.scopes, arguments), repeatable=False)
        return delivery(reply, job_id, parsed)

    def _layer(self, uri: Uri, layer: LayerName) -> Plan[str]:
        (stored,) = yield from self._fields(uri, (layer,))
        if stored is not None:
            return text(stored)
        (head,) = yield from self._fields(uri, ("text",), _HEAD)
        if head is None:
            raise CorruptRecord(f"the record of {uri!r} has no text")
        return getattr(fallback, layer)(head.decode(errors="ignore"))  # type: ignore[no-any-return]

    def _fields(self, uri: Uri, names: tuple[str, ...], longest: int | str = "") -> Plan[list[bytes | None]]:
        """The values of a document's fields; raises `NotFound`."""
        keys = yield from self._keys()
        arguments = (*address(keys), longest, len(names), *names, uri)
        ((row,),) = yield from ask(call("tree_get", keys.scopes, arguments))
        if not row or row[0] != b"doc" or not row[3]:
            raise missing(uri, "no document stands")
        return row[3]  # type: ignore[no-any-return]


def delivery(reply: bytes, job_id: int, uri: Uri) -> Delivery:
    """What a script says became of a job's result; raises `InvalidInput` for a job of another URI."""
    if reply == b"another":
        raise InvalidInput(f"job {job_id} isn't one for {uri!r}")
    return Delivery("discarded", text(reply)) if reply else Delivery("stored")


class Layers(LayerOperations, Blocking):
    """The layers of the documents of one scope."""


class AsyncLayers(LayerOperations, NonBlocking):
    """The layers of the documents of one scope."""
