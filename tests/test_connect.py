"""Where Redis may be: behind TLS, a password, a Unix socket, Sentinel, the environment; and what it must have."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis
from servers import free_ports, redis_server, wait_until
from tls_proxy import tls_front

from tiered_memory import StoreUnavailable, StoreUnsupported
from tiered_memory.engine.binaries import find_binaries


def remembers(mem) -> bool:
    """Whether a memory that is remembered comes back."""
    mem.remember("exact")
    return [hit.text for hit in mem.recall("q")] == ["exact"]


class TestSecurity:
    def test_tls(self, open_memory, redis_url, tmp_path):
        """`rediss://` speaks TLS, and trusts the authority that the URL names."""
        with tls_front(urlsplit(redis_url).port, tmp_path) as (port, certificate):
            mem = open_memory(url=f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={certificate}")
            assert remembers(mem)
            mem.close()

    def test_untrusted(self, open_memory, redis_url, tmp_path):
        """A certificate that nobody vouches for is refused as an unreachable store."""
        with tls_front(urlsplit(redis_url).port, tmp_path) as (port, _), pytest.raises(StoreUnavailable):
            open_memory(url=f"rediss://127.0.0.1:{port}/0", retries=0).count()

    def test_user_and_password(self, open_memory, redis_url, namespace):
        """The URL's user and password are used; wrong ones are named as such, without being shown."""
        host = redis_url.removeprefix("redis://")
        with redis.Redis.from_url(redis_url) as client:
            client.acl_setuser(namespace, enabled=True, passwords=["+s3cret"], keys=["*"], categories=["+@all"])
            try:
                assert remembers(open_memory(url=f"redis://{namespace}:s3cret@{host}"))
                with pytest.raises(StoreUnavailable, match="user name or password") as caught:
                    open_memory(url=f"redis://{namespace}:wr0ng@{host}").count()
                assert "wr0ng" not in repr(caught.value)
            finally:
                client.acl_deluser(namespace)


class TestAddress:
    def test_the_environment(self, open_memory, redis_url, monkeypatch):
        """Without a URL, `REDIS_URL` says where Redis is."""
        monkeypatch.setenv("REDIS_URL", redis_url)
        assert remembers(open_memory(url=None))

    def test_a_unix_socket(self, open_memory, tmp_path):
        """`unix://` names a socket of the file system."""
        socket = tmp_path / "redis.sock"
        with redis_server("--unixsocket", str(socket)):
            mem = open_memory(url=f"unix://{socket}")
            assert remembers(mem)
            mem.close()

    def test_sentinel(self, open_memory, redis_url, tmp_path):
        """`redis+sentinel://` asks the sentinels for the service's master."""
        with sentinel(urlsplit(redis_url).port, tmp_path) as port:
            mem = open_memory(url=f"redis+sentinel://127.0.0.1:{port}/mymaster")
            assert remembers(mem)
            mem.close()

    def test_nobody_there(self, open_memory):
        """An address where nothing listens is an unreachable store."""
        with pytest.raises(StoreUnavailable, match="can't be reached"):
            open_memory(url="redis://127.0.0.1:1/0", retries=0).count()


class TestServer:
    def test_without_search(self, open_memory):
        """A server without the search module is refused, with what to use instead."""
        with plain_server() as url, pytest.raises(StoreUnsupported, match=r"no search module.*redis:8"):
            open_memory(url=url).count()


@contextmanager
def sentinel(master: int, folder: Path) -> Iterator[int]:
    """The port of a sentinel that watches the server at port `master` as `mymaster`."""
    file = folder / "sentinel.conf"
    file.write_text(f"bind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {master} 1\n")
    with _started(str(file), "--sentinel") as port:
        yield port


@contextmanager
def plain_server() -> Iterator[str]:
    """The URL of a server without modules."""
    with _started("--save", "") as port:
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _started(*arguments: str) -> Iterator[int]:
    (port,) = free_ports(1)
    command = [str(find_binaries().server), *arguments, "--port", str(port), "--bind", "127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        with redis.Redis(port=port) as client:
            wait_until(lambda: _answers(client))
        yield port
    finally:
        process.terminate()
        process.wait(10)


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
