"""Clients for wherever Redis is: a URL, TLS, a Unix socket, Sentinel, a cluster, or the caller's own client."""

from __future__ import annotations

from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

from attrs import frozen

from tiered_memory.config import MemoryConfig
from tiered_memory.engine.reply import pairs, strings
from tiered_memory.errors import ConfigError, StoreUnsupported
from tiered_memory.plan import Plan, ask

MIN_SEARCH = (2, 10)
"""The oldest search module (RediSearch) that has what is needed."""

_SENTINEL = "redis+sentinel"
_SCHEMES = ("redis", "rediss", "unix", _SENTINEL)


@frozen
class Server:
    """What was found out about a server: whether it is part of a cluster."""

    cluster: bool


def inspect() -> Plan[Server]:
    """Looks at the server behind the connection; raises `StoreUnsupported` where something needed is absent."""
    info, modules = yield from ask(("INFO", "server"), ("MODULE", "LIST"), keep_errors=True)
    if not isinstance(modules, Exception):
        _check_search([pairs(module) for module in strings(modules)])
    return Server(cluster="cluster" in _mode(info))


def _mode(info: Any) -> str:
    if isinstance(info, dict):
        return str(info.get("redis_mode", ""))
    lines = strings(info).splitlines() if isinstance(info, bytes) else []
    return next((line.partition(":")[2] for line in lines if line.startswith("redis_mode:")), "")


def _check_search(modules: list[dict[str, Any]]) -> None:
    versions = [int(module["ver"]) for module in modules if module["name"] in {"search", "searchlight"}]
    how = "use Redis 8, or Redis Stack 7.4; for one in Docker: docker run -p 6379:6379 redis:8"
    if not versions:
        raise StoreUnsupported(f"this Redis has no search module; {how}")
    found = divmod(versions[0] // 100, 100)
    if found < MIN_SEARCH:
        wanted = ".".join(map(str, MIN_SEARCH))
        raise StoreUnsupported(f"this Redis has search module {found[0]}.{found[1]}, and {wanted} is needed; {how}")


def blocking(config: MemoryConfig, url: str, *, cluster: bool = False) -> Any:
    """A blocking redis-py client for `url`; nothing is connected yet, unless it is a cluster."""
    import redis
    from redis.sentinel import Sentinel

    return _client(redis, Sentinel, config, url, cluster)


def nonblocking(config: MemoryConfig, url: str, *, cluster: bool = False) -> Any:
    """An async redis-py client for `url`; nothing is connected yet."""
    import redis.asyncio
    from redis.asyncio.sentinel import Sentinel

    return _client(redis.asyncio, Sentinel, config, url, cluster)


def _client(module: ModuleType, sentinel: type[Any], config: MemoryConfig, url: str, cluster: bool) -> Any:
    scheme = urlsplit(url).scheme
    if scheme not in _SCHEMES:
        raise ConfigError(f"a Redis URL begins with one of {', '.join(f'{each}://' for each in _SCHEMES)}")
    options = _options(module, config)
    if scheme == _SENTINEL:
        return _behind_sentinel(sentinel, url, options)
    if cluster:
        return module.RedisCluster.from_url(url, **options)
    client = module.Redis.from_url(url, **options)
    check_database(client)
    return client


def _options(module: ModuleType, config: MemoryConfig) -> dict[str, Any]:
    """Retries are the runner's, which knows what may be repeated; so the connection itself makes none."""
    if module.__name__ == "redis":
        from redis.retry import Retry
    else:
        from redis.asyncio.retry import Retry  # type: ignore[assignment]
    from redis.backoff import NoBackoff

    return {
        "socket_timeout": config.timeout,
        "socket_connect_timeout": config.connect_timeout,
        "retry": Retry(NoBackoff(), 0),
        "health_check_interval": 30,
    }


def _behind_sentinel(sentinel: type[Any], url: str, options: dict[str, Any]) -> Any:
    parts = urlsplit(url)
    credentials, _, hosts = parts.netloc.rpartition("@")
    service = parts.path.strip("/")
    if not service or not hosts:
        raise ConfigError(f"a Sentinel URL looks like {_SENTINEL}://host:26379,host:26379/service")
    user, _, password = credentials.partition(":")
    addresses = [_address(host) for host in hosts.split(",")]
    login = {"username": unquote(user) or None, "password": unquote(password) or None} if credentials else {}
    return sentinel(addresses, **options).master_for(service, **login, **options)


def _address(host: str) -> tuple[str, int]:
    name, _, port = host.rpartition(":")
    if not name or not port.isdigit():
        raise ConfigError(f"a Sentinel's address is host:port, not {host!r}")
    return name, int(port)


def with_its_own(client: Any) -> list[Any]:
    """A client that was made here, and the clients that it made for itself: those of its sentinels."""
    manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
    return [client, *(manager.sentinels if manager is not None else ())]


def check_database(client: Any) -> None:
    """Refuses another database than 0, in which indexes can't be made."""
    pool = getattr(client, "connection_pool", None)
    database = pool.connection_kwargs.get("db") if pool is not None else 0
    if database:
        raise StoreUnsupported(f"database {database} can't hold search indexes; use database 0 and a namespace")


def check_client(client: Any, *, asynchronous: bool) -> bool:
    """Whether the caller's own client is one of a cluster; refuses one of the other mode."""
    import redis
    import redis.asyncio

    cluster = (redis.asyncio if asynchronous else redis).RedisCluster
    single = (redis.asyncio if asynchronous else redis).Redis
    if not isinstance(client, (single, cluster)):
        mode, module = ("async", "redis.asyncio") if asynchronous else ("blocking", "redis")
        raise ConfigError(f"client is a {type(client).__qualname__}; the {mode} memory needs a client of {module}")
    check_database(client)
    return isinstance(client, cluster)
