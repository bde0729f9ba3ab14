"""How the embedded Redis is started: its settings, its supervisor, and whether it answers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

from tiered_memory.engine.binaries import Binaries
from tiered_memory.engine.filelock import FileLock

SOCKET = "redis.sock"
"""The Unix socket's name in the data folder."""
SERVER_LOCK = "server.lock"
"""The lock of the supervisor and the server; nobody else may start one while they have it."""

_LOG = "redis.log"
_SUPERVISOR = Path(__file__).with_name("supervisor.py")


def server_command(binaries: Binaries, *, durable: bool) -> list[str]:
    """What starts the server in its data folder; `durable` says whether a write must outlive a power cut."""
    settings = {
        "port": "0",
        "unixsocket": SOCKET,
        "unixsocketperm": "700",
        "databases": "1",
        "appendonly": "yes",
        # "everysec" may answer before it writes, so even a mere kill could lose acknowledged writes
        "appendfsync": "always" if durable else "no",
        "save": "",
        "loglevel": "warning",
        "hide-user-data-from-log": "yes",
        "loadmodule": str(binaries.search_module),
    }
    return [
        str(binaries.server),
        *(word for name, value in settings.items() for word in (f"--{name}", value)),
    ]


def start(folder: Path, command: list[str], *, delete: bool) -> bool:
    """Have `command` run in `folder` under a supervisor unless one is there; returns whether it was started.

    The supervisor stops it when nobody holds the folder any more; `delete` has it remove the folder then.
    """
    lock = FileLock(folder / SERVER_LOCK)
    try:
        if free := lock.take():
            end = "delete" if delete else "keep"
            _launch(folder, [str(_SUPERVISOR), str(lock.fd), end, *command], lock.fd)
        return free
    finally:
        lock.close()


def _launch(folder: Path, script: list[str], lock: int) -> None:
    log = os.open(folder / _LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        subprocess.run(
            [sys.executable, "-I", "-S", *script],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[lock],
            start_new_session=True,
            check=False,
        )
    finally:
        os.close(log)


def answers(path: Path) -> bool:
    """Whether a server that has loaded its data listens at the Unix socket `path`."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(1)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def log_tail(folder: Path) -> str:
    """The last lines of the server's log; it holds no data of the user."""
    path = folder / _LOG
    return "\n".join(path.read_text(errors="replace").splitlines()[-10:]) if path.exists() else "(no log)"
