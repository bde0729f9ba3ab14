"""Looks at the Redis behind a URL, and at a namespace in it, without changing anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from urllib.parse import urlsplit

from attrs import evolve, frozen

from tiered_memory.config import MemoryConfig
from tiered_memory.engine import connect
from tiered_memory.engine.faults import foreign_errors
from tiered_memory.engine.keys import Keyspace
from tiered_memory.engine.reply import pairs, strings
from tiered_memory.engine.run import BlockingRunner
from tiered_memory.plan import Plan, ask


@frozen
class Server:
    """What was found.

    Attributes:
        version: The version of Redis, as far as it tells.
        search: The version of its search module, as far as it tells.
        cluster: Whether it is part of a cluster.
        has_namespace: Whether the namespace was made already.
    """

    version: str
    search: str
    cluster: bool
    has_namespace: bool


def look(namespace: str, url: str) -> Server:
    """The server behind `url`, and whether it has the namespace.

    Raises `StoreUnavailable`, or `StoreUnsupported` where it lacks something that is needed.
    """
    config = MemoryConfig(namespace=namespace, retries=0)
    with _runner(config, url, cluster=False) as runner:
        cluster = runner.run(connect.inspect()).cluster
        version, search = runner.run(_versions())
    with _runner(config, url, cluster=cluster) as runner:
        has_namespace = runner.run(_has(Keyspace(namespace, 1, "")))
    return Server(version, search, cluster, has_namespace)


def without_secrets(url: str) -> str:
    """`url` without its user name, password and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@contextmanager
def _runner(config: MemoryConfig, url: str, *, cluster: bool) -> Iterator[BlockingRunner]:
    with foreign_errors(), closing(connect.blocking(config, url, cluster=cluster)) as client:
        yield BlockingRunner(evolve(config, client=client))


def _versions() -> Plan[tuple[str, str]]:
    info, modules = yield from ask(("INFO", "server"), ("MODULE", "LIST"), keep_errors=True)
    return _redis_version(strings(info)), _search_version(modules)


def _redis_version(info: object) -> str:
    if isinstance(info, Mapping):
        return str(info.get("redis_version", "unknown"))
    lines = info.splitlines() if isinstance(info, str) else []
    return next((line.partition(":")[2] for line in lines if line.startswith("redis_version:")), "unknown")


def _search_version(modules: object) -> str:
    for module in map(pairs, strings(modules)) if isinstance(modules, list) else ():
        if str(module["name"]).startswith("search"):
            major, rest = divmod(int(module["ver"]), 10_000)
            return f"{major}.{rest // 100}.{rest % 100}"
    return "unknown"


def _has(keyspace: Keyspace) -> Plan[bool]:
    (found,) = yield from ask(("EXISTS", keyspace.meta))
    return bool(found)
