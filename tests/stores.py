"""The store of a memory, in the memory's mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis import Redis

from tiered_memory import Memory, ScopedMemory
from tiered_memory.store import AsyncStore, Store


def store_of(mem: Any) -> Any:
    """The store of a handle; in async mode the handle is wrapped, and so is its store."""
    if isinstance(mem, Memory | ScopedMemory):
        return Store(mem)
    return type(mem)(AsyncStore(mem._handle), mem._loop)


def uris_of(store: Any, under: str = "viking://") -> list[str]:
    """The URIs of all documents below."""
    return [row.uri for row in store.documents.list(under, filter={"include_disabled": True}).items]


def commands_of(client: Redis, call: Callable[[], Any]) -> list[str]:
    """The names of the commands that clients send meanwhile, without those that scripts call."""
    with client.monitor() as monitor:
        call()
        client.echo("the end")
        names = []
        for each in monitor.listen():
            if "the end" in each["command"]:
                return names
            name = each["command"].split(" ")[0].upper()
            if each["client_type"] != "lua" and name not in ("HELLO", "CLIENT"):
                names.append(name)
    return names
