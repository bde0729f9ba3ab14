"""Completing URIs in the shell: against what is stored, if a server is there; nothing is started, made or loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.scripts import call, in_full
from tiered_memory.store.tree import address
from tiered_memory.store.uri import SCHEME, parse

if TYPE_CHECKING:
    from redis import Redis

_MOST = 200
"""How many names are offered at the most."""

_SECONDS = 1.0
"""How long a server may take to answer."""


def full_uri(text: str) -> str:
    """The URI that a text on the command line stands for: the scheme, and a slash at the end, may be left out."""
    uri = text if text.startswith("viking:") else SCHEME + text
    return uri.removesuffix("/") if uri != SCHEME else uri


def complete_uri(ctx: typer.Context, incomplete: str) -> list[str]:
    """The URIs that begin with `incomplete`, one segment further; a directory also with a slash, to go on from there.

    As bash takes a colon for the end of a word, what follows it may come alone. Whatever fails, nothing is offered.
    """
    with suppress(Exception):
        return list(_completions(ctx.params, incomplete))
    return []


def _completions(given: dict[str, Any], incomplete: str) -> Iterator[str]:
    before = next((part for part in (SCHEME, "//") if incomplete.startswith(part)), "")
    if not before and SCHEME.startswith(incomplete):
        before, incomplete = SCHEME, SCHEME
    above, slash, begun = incomplete.removeprefix(before).rpartition("/")
    for name, is_directory in _names(given, parse(SCHEME + above), begun):
        yield f"{before}{above}{slash}{name}"
        if is_directory:
            yield f"{before}{above}{slash}{name}/"


def _names(given: dict[str, Any], above: str, begun: str) -> Iterator[tuple[str, bool]]:
    """The names below a directory that begin so, and whether each is a directory."""
    with _client(given) as client:
        namespace = given.get("namespace") or "tiered-memory"
        partitions = client.hget(Keyspace(namespace, 1, "").meta, "partitions")
        scope = given.get("scope")
        keys = Keyspace(namespace, int(partitions or 1), "").of(scope if isinstance(scope, str) else None)
        for kind in ("directories", "documents"):
            arguments = (*address(keys), above, kind, "", 10_000)
            _, names = client.execute_command(*in_full(call("tree_children", keys.scopes, arguments)))
            found = [name.decode() for name in names]
            yield from [(name, kind == "directories") for name in found if name.startswith(begun)][:_MOST]


def _client(given: dict[str, Any]) -> Redis:
    """A client of the server that the options name, or of an embedded one that runs."""
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    settings: dict[str, Any] = {
        "socket_timeout": _SECONDS, "socket_connect_timeout": _SECONDS, "retry": Retry(NoBackoff(), 0),
    }  # fmt: skip
    url = given.get("url") or (None if given.get("data_dir") else os.environ.get("REDIS_URL"))
    return Redis.from_url(url, **settings) if url else Redis(unix_socket_path=_socket(given), **settings)


def _socket(given: dict[str, Any]) -> str:
    from platformdirs import user_data_path

    from tiered_memory.engine.launch import SOCKET

    return str(Path(given.get("data_dir") or user_data_path("tiered-memory")) / SOCKET)
