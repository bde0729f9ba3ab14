"""Commits: sessions that were written out as documents, each with the hash of what it said then."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from tiered_memory import clock
from tiered_memory.engine.keys import ScopeKeys
from tiered_memory.engine.reply import text
from tiered_memory.engine.scripts import call
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import Document, content_hash
from tiered_memory.store.messages import check_hash, check_session_id
from tiered_memory.store.queue import job_arguments
from tiered_memory.store.session_log import STORE
from tiered_memory.store.tree import address, conflict, document_arguments
from tiered_memory.store.uri import Uri, parse

JOBS = ("embed", "summarize_abstract", "summarize_overview")
"""The kinds of the jobs that make a committed document searchable, and its layers."""


@frozen
class Commit:
    """What became of a session that was to be committed.

    Attributes:
        uri: The document's URI.
        hash: The hash of what the session says.
        outcome: `committed`, or `unchanged` since the document holds exactly that.
    """

    uri: Uri
    hash: str
    outcome: Literal["committed", "unchanged"]


class CommitOperations(Bound):
    """What was committed where in one scope."""

    @operation
    def hash(self, id: str, dest: str) -> Plan[str | None]:
        """The hash that a session was last committed to `dest` with, or None. Raises `InvalidURI`."""
        uri = parse(dest)
        keys = yield from self._keys()
        arguments = (keys.token(STORE), check_session_id(id), uri)
        (found,) = yield from ask(call("commits_read", keys.scopes, arguments))
        return None if found is None else text(found)

    @operation
    def put(self, id: str, dest: str, hash: str, content: str) -> Plan[Commit]:
        """Writes a committed document, its jobs and the record of the commit in one step.

        Each pair of a session and a destination has a record of its own, which goes when the document is removed.

        Args:
            id: The session's id; whether there is such a session isn't looked at.
            dest: The document's URI; what stands there is replaced.
            hash: What tells this commit from others, at most 255 bytes.
            content: The document.

        Raises:
            InvalidInput: The id or the hash can't be used.
            InvalidURI: `dest` isn't a URI.
            IsRoot: It is the root.
            KindConflict: A directory, or a memory, stands there.
            TooLarge: The content is longer than a document may be.
        """
        return (yield from commit((yield from self._keys()), id, dest, hash, content))


class Commits(CommitOperations, Blocking):
    """What was committed where in one scope."""


class AsyncCommits(CommitOperations, NonBlocking):
    """What was committed where in one scope, by operations that are awaited."""


def commit(keys: ScopeKeys, id: str, dest: str, hash: str, content: str, *, only_changed: bool = False) -> Plan[Commit]:
    """Commits a content to a URI; if `only_changed`, only when the document there isn't this commit already."""
    document = Document(dest, content)
    payload = {"uri": document.uri, "content_hash": content_hash(content)}
    arguments = [
        clock.now_micros(), *address(keys), check_session_id(id), check_hash(hash), "changed" if only_changed else "",
        *document_arguments(keys, [document]), *job_arguments([(kind, payload) for kind in JOBS]),
    ]  # fmt: skip
    (reply,) = yield from ask(call("commits_put", keys.scopes, arguments), repeatable=only_changed)
    outcome = text(reply[0])
    if outcome == "kind_conflict":
        raise conflict(document.uri)
    return Commit(document.uri, hash, outcome)  # type: ignore[arg-type]
