"""The tree of an archive: directories, documents with what callers said about them, and what was committed where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve, field, frozen

from tiered_memory import clock
from tiered_memory.archive.section import Outcome, Outcomes, Record, Section, micros, moment
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.errors import DamagedArchive
from tiered_memory.items import Page
from tiered_memory.plan import Plan, ask
from tiered_memory.store.commits import JOBS
from tiered_memory.store.items import Document, content_hash
from tiered_memory.store.messages import check_hash, check_session_id
from tiered_memory.store.queue import job_arguments
from tiered_memory.store.tags import GROUP
from tiered_memory.store.tree import LAYERS, address, document_arguments
from tiered_memory.store.uri import Uri, parse

_STEP = 100
"""How many nodes are read at a time."""

_BYTES = 4 * 1024 * 1024
"""About how much of them."""

_FIELDS = (
    "text", "content_hash", "created_at", "updated_at",
    *(f"{layer}{part}" for layer in LAYERS for part in ("", "_of", "_by")),
)  # fmt: skip

_MADE_BY_JOBS = {"embed": None, "summarize_abstract": "abstract", "summarize_overview": "overview"}
"""The layer that a job makes, by its kind."""

Argument = str | bytes | int | float


@frozen
class Node:
    """What stands at a URI.

    Attributes:
        uri: Where it stands.
        kind: `dir`, `doc`, or `view`: a document that is a view of a memory.
        enabled: Whether it isn't switched off itself.
        group: Its own group's tag, or the empty text.
        created_at: When it was made, in microseconds; 0 for a view.
        updated_at: When it was last written; 0 for what isn't a document of its own.
        document: What a document says, or None.
        made_for: The hashes of the contents that its layers were made for, where they aren't of this one.
        tier: The tier of the memory that it is a view of, or None.
    """

    uri: Uri
    kind: str
    enabled: bool
    group: str
    created_at: int = 0
    updated_at: int = 0
    document: Document | None = None
    made_for: dict[str, str] = field(factory=dict)
    tier: str | None = None


class Tree(Section):
    """The directories of a scope, then its documents."""

    name = "tree"

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """Up to a hundred nodes, or some 4 MiB of them, in the order of their URIs."""
        kind, _, after = (cursor or "directories:").partition(":")
        keys = self.place.keys
        arguments: list[Argument] = [*address(keys), kind, after, _STEP, _BYTES, *_FIELDS]
        ((following, rows),) = yield from ask(call("tree_export", keys.scopes, arguments))
        records = [record for row in rows if (record := self._record(kind, row)) is not None]
        if following:
            return Page(records, f"{kind}:{text(following)}")
        return Page(records, "documents:" if kind == "directories" else None)

    def parse(self, record: Record) -> Node:
        """The node of a record."""
        uri, kind = parse(record["uri"]), record["kind"]
        enabled, group = record.get("enabled", True), record.get("group", "")
        if kind not in ("dir", "doc", "view") or not isinstance(enabled, bool) or not GROUP.fullmatch(group):
            raise DamagedArchive(f"what stands at {uri!r} has marks, or is of a kind, that nothing has")
        node = Node(uri, kind, enabled, group)
        if kind == "dir":
            return evolve(node, created_at=micros(record["created_at"]))
        return evolve(node, tier=self._tier(record["tier"])) if kind == "view" else _with_document(node, record)

    def load(self, parsed: Sequence[Node]) -> Plan[Outcomes]:
        """Writes all of them in one step, with the jobs of new documents."""
        keys = self.place.keys
        arguments: list[Argument] = [clock.now_micros(), *address(keys), len(parsed)]
        for node in parsed:
            marks = (node.uri, node.kind, "" if node.enabled else "off", node.group)
            arguments += [*marks, node.created_at or "", node.updated_at or ""]
            arguments += [node.made_for.get(layer, "") for layer in LAYERS]
        documents = [node.document for node in parsed if node.document is not None]
        arguments += document_arguments(keys, documents)
        arguments += job_arguments([job for document in documents for job in _jobs(document)])
        (outcomes,) = yield from ask(call("import_tree", keys.scopes, arguments))
        return [(node.uri, _outcome(outcome)) for node, outcome in zip(parsed, outcomes, strict=True)]

    def _tier(self, name: Any) -> str:
        if name not in [keeping.name for keeping in self.place.tiers if not keeping.notes]:
            raise DamagedArchive(f"a document is a memory of a tier {name!r}, which the configuration doesn't have")
        return str(name)

    def _record(self, kind: str, row: Sequence[Any]) -> Record | None:
        """A node as a record; None for a memory of a tier that isn't known here, and so isn't exported either."""
        uri, off, group, created_at, view, values = row
        record: Record = {"uri": text(uri), "kind": "dir" if kind == "directories" else "view" if view else "doc"}
        record |= {"enabled": False} if off else {}
        record |= {"group": text(group)} if group else {}
        if record["kind"] == "dir":
            return record | {"created_at": moment(created_at)}
        if record["kind"] == "view":
            tiers = {self.place.keys.token(keeping.name): keeping.name for keeping in self.place.tiers}
            return record | {"tier": tiers[text(view)]} if text(view) in tiers else None
        return record | _said(dict(zip(_FIELDS, values, strict=True)))


def _with_document(node: Node, record: Record) -> Node:
    made_for: dict[str, str] = {layer: check_hash(record[f"{layer}_of"]) for layer in LAYERS if f"{layer}_of" in record}
    return evolve(
        node,
        created_at=micros(record["created_at"]),
        updated_at=micros(record["updated_at"]),
        document=Document(
            node.uri, record["content"], abstract=record.get("abstract"), overview=record.get("overview")
        ),
        made_for=made_for,
    )


def _said(fields: dict[str, bytes | None]) -> Record:
    """What a document says: its content and the layers that callers supplied."""
    record: Record = {name: moment(text(fields[name])) for name in ("created_at", "updated_at")}
    record["content"] = text(fields["text"])
    for layer in LAYERS:
        if fields[layer] is not None and fields[f"{layer}_by"] == b"caller":
            record[layer] = text(fields[layer])
            if fields[f"{layer}_of"] != fields["content_hash"]:
                record[f"{layer}_of"] = text(fields[f"{layer}_of"])
    return record


def _jobs(document: Document) -> list[tuple[str, dict[str, str]]]:
    """The jobs that embed a document and make the layers that it lacks."""
    payload = {"uri": document.uri, "content_hash": content_hash(document.content)}
    supplied = {layer for layer in LAYERS if getattr(document, layer)}
    return [(kind, payload) for kind in JOBS if _MADE_BY_JOBS[kind] not in supplied]


def _outcome(reply: Any) -> Outcome:
    return text(reply)  # type: ignore[return-value]


@frozen
class Commit:
    """A session that was committed to a URI, with the hash of what it said."""

    session: str
    uri: Uri
    hash: str


class Commits(Section):
    """What was committed where."""

    name = "commits"

    def page(self, cursor: str | None) -> Plan[Page[Record]]:
        """Up to a hundred commits, in the order of their URIs."""
        keys = self.place.keys
        first = b"[d\0" if cursor is None else b"(" + cursor.encode()
        command = ("ZRANGE", keys.key("commits", "tree"), first, b"(d\1", "BYLEX", "LIMIT", 0, _STEP)
        (found,) = yield from ask(command)
        members = [text(member) for member in found]
        records = [dict(zip(("uri", "session", "hash"), each.split("\0", 3)[1:], strict=True)) for each in members]
        return Page(records, members[-1] if len(members) == _STEP else None)

    def parse(self, record: Record) -> Commit:
        """The commit of a record."""
        return Commit(check_session_id(record["session"]), parse(record["uri"]), check_hash(record["hash"]))

    def load(self, parsed: Sequence[Commit]) -> Plan[Outcomes]:
        """Writes those whose documents stand."""
        keys = self.place.keys
        arguments = [part for each in parsed for part in (each.session, each.uri, each.hash)]
        (outcomes,) = yield from ask(call("import_commits", keys.scopes, (*address(keys), *arguments)))
        return [
            (f"{each.session} {each.uri}", _outcome(outcome)) for each, outcome in zip(parsed, outcomes, strict=True)
        ]
