"""Sessions: the conversations of a scope, message by message, and what a model is given of them."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from tiered_memory.checks import check_count, check_cursor
from tiered_memory.items import Page
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, call
from tiered_memory.store.bound import Bound
from tiered_memory.store.commits import Commit, commit
from tiered_memory.store.context import SessionContext, Summarise, session_context
from tiered_memory.store.messages import (
    Message,
    Restore,
    check_content,
    check_messages,
    check_role,
    check_session_id,
    transcript,
    transcript_hash,
)
from tiered_memory.store.session_log import SessionLog
from tiered_memory.tokens import TokenCounter
from tiered_memory.tokens import counter as best_counter


class SessionOperations(Bound):
    """Creating, appending to, reading, restoring, committing and removing the sessions of one scope."""

    @property
    def _summarise(self) -> Summarise | None:
        return self._runner.config.summarise  # type: ignore[no-any-return]

    @operation
    def create(self) -> Plan[str]:
        """Creates an empty session; returns its id, 32 random hexadecimal digits."""
        id = secrets.token_hex(16)
        log = yield from self._log()
        yield from log.create(id)
        return id

    @operation
    def append(self, id: str, role: str, content: str) -> Plan[Message]:
        """Appends a message to a session; concurrent ones follow each other, none gets lost.

        Args:
            id: The session.
            role: Who says it: `user`, `assistant`, `system` or any other word, at most 64 bytes.
            content: What is said, at most 1 MiB; it may be empty.

        Returns:
            The message, with its number in the session, from 0.

        Raises:
            InvalidInput: The id, the role or the content can't be used.
            SessionNotFound: There is no such session.
        """
        check_session_id(id)
        check_role(role)
        check_content(content)
        log = yield from self._log()
        return (yield from log.append(id, role, content))

    @operation
    def messages(self, id: str, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[Message]]:
        """A page of a session's messages, in their order; pass the page's `cursor` for the next one.

        Raises `SessionNotFound`.
        """
        check_session_id(id)
        check_count(limit, "limit", 1)
        check_cursor(cursor, "messages", r"\d{1,18}")
        log = yield from self._log()
        length, found = yield from log.read(id, int(cursor or 0), limit)
        following = found[-1].seq + 1 if found else length
        return Page(found, str(following) if following < length else None)

    @operation
    def ids(self, *, limit: int = 100, cursor: str | None = None) -> Plan[Page[str]]:
        """A page of the ids of this scope's sessions, in the order of their bytes."""
        check_count(limit, "limit", 1)
        log = yield from self._log()
        return (yield from log.ids(limit, None if cursor is None else check_session_id(cursor)))

    @operation
    def restore(self, id: str, messages: Iterable[Message | tuple[str, str]]) -> Plan[Restore]:
        """Restores a session with its id and messages, in one step.

        A session that is absent or empty gets these messages, numbered from 0; one that holds exactly these is
        skipped. Compared are role and content, in their order.

        Args:
            id: Its id.
            messages: At most 100,000, as a `Message`, whose time is kept, or as a pair of role and content.

        Raises:
            InvalidInput: The id or a message can't be used.
            SessionConflict: The session holds other messages, or more or fewer; it stays as it is.
        """
        checked = check_messages(messages)
        log = yield from self._log()
        return (yield from log.restore(check_session_id(id), checked))

    @operation
    def context(
        self,
        id: str,
        max_tokens: int,
        *,
        summarise: Summarise | None = None,
        counter: TokenCounter | None = None,
    ) -> Plan[SessionContext]:
        """The newest messages of a session that have at most `max_tokens` tokens, for a model to go on from.

        Args:
            id: The session.
            max_tokens: The most tokens of messages and summary together.
            summarise: Makes a short text of a long one. When not all messages fit, a quarter of the tokens is for
                what it makes of those that don't, of the last thousand of them, cut to that. Default: the
                configuration's.
            counter: Who counts tokens; default: the best counter that this machine has.

        Raises:
            InvalidLimit: `max_tokens` is below 1.
            SessionNotFound: There is no such session.
            StoreError: The summariser failed.
        """
        check_session_id(id)
        check_count(max_tokens, "max_tokens", 1)
        counter = counter or (yield from call(best_counter))
        log = yield from self._log()
        return (yield from session_context(log, id, max_tokens, summarise or self._summarise, counter))

    @operation
    def commit(self, id: str, dest: str) -> Plan[Commit]:
        """Writes a session out as a document, in one step with the jobs that make it searchable.

        Its content is the messages as `role: content`, with a blank line between two. When the session was committed
        there as it is now, and the document still holds that, nothing is written.

        Args:
            id: The session.
            dest: The document's URI; what stands there is replaced.

        Raises:
            SessionNotFound: There is no such session.
            InvalidURI: `dest` isn't one.
            IsRoot: It is the root.
            KindConflict: A directory, or a memory, stands there.
            TooLarge: The session is longer than a document may be.
        """
        keys = yield from self._keys()
        messages = yield from SessionLog(keys).read_all(check_session_id(id))
        return (yield from commit(keys, id, dest, transcript_hash(messages), transcript(messages), only_changed=True))

    @operation
    def remove(self, id: str) -> Plan[int]:
        """Removes a session; what was committed from it stays. Returns how many messages it had.

        Raises `SessionNotFound`.
        """
        log = yield from self._log()
        return (yield from log.remove(check_session_id(id)))

    def _log(self) -> Plan[SessionLog]:
        return SessionLog((yield from self._keys()))


class Sessions(SessionOperations, Blocking):
    """The sessions of one scope."""


class AsyncSessions(SessionOperations, NonBlocking):
    """The sessions of one scope, whose operations are awaited."""
