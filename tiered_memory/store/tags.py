"""Marks of whole subtrees: whether they are in use, and the group that they belong to."""

from __future__ import annotations

import re

from tiered_memory.engine.scripts import call
from tiered_memory.errors import InvalidGroup, InvalidInput
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, ask
from tiered_memory.store.bound import Bound
from tiered_memory.store.items import check_document_uri
from tiered_memory.store.tree import address, missing
from tiered_memory.store.uri import Uri

GROUP = re.compile(r"[A-Za-z0-9_/-]{0,64}")
"""What a group's tag looks like; the empty text is none."""


class TagOperations(Bound):
    """Marks of the nodes of one scope."""

    @operation
    def set_enabled(self, uri: str, on: bool) -> Plan[bool]:
        """Switches a document or directory off or on, and with it all that lies below, in one step.

        What is switched off can be read and written, but no search and no listing has it, unless it is asked for.
        Each node keeps a mark of its own: what was switched off one by one stays so when a directory above is
        switched on again, and what is written below a directory that is off is off.

        Args:
            uri: What to switch.
            on: Whether it shall be in use.

        Returns:
            Whether it is in use now: not while a directory above is switched off.

        Raises:
            InvalidURI: The URI isn't one.
            IsRoot: It is the root.
            NotFound: Nothing stands there.
        """
        if not isinstance(on, bool):
            raise InvalidInput(f"on={on!r} must be True or False")
        return bool((yield from self._mark("tree_enable", check_document_uri(uri), "on" if on else "off")))

    @operation
    def set_group(self, uri: str, tag: str) -> Plan[None]:
        """Gives a document or directory and all that lies below a group's tag, in one step; the empty text clears it.

        What is written below later belongs to the group too. A tag is a name, never content: up to 64 of
        `A-Z a-z 0-9 _ / -`.

        Raises:
            InvalidGroup: The tag isn't one.
            InvalidURI: The URI isn't one.
            IsRoot: It is the root.
            NotFound: Nothing stands there.
        """
        if not isinstance(tag, str) or not GROUP.fullmatch(tag):
            raise InvalidGroup(f"tag={tag!r} must be up to 64 of A-Z a-z 0-9 _ / -, or empty")
        yield from self._mark("tree_group", check_document_uri(uri), tag)

    def _mark(self, script: str, uri: Uri, mark: str) -> Plan[int]:
        keys = yield from self._keys()
        (reply,) = yield from ask(call(script, keys.scopes, (*address(keys), uri, mark)))
        if reply < 0:
            raise missing(uri)
        return int(reply)


class Tags(TagOperations, Blocking):
    """Marks of the nodes of one scope."""


class AsyncTags(TagOperations, NonBlocking):
    """Marks of the nodes of one scope."""
