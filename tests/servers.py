"""Redis servers for tests, of the binaries that the `embedded` extra installs: one, or a small cluster."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from tiered_memory.engine.binaries import find_binaries

_SLOTS = 16384

_LOADING = 600
"""So many seconds a server may take that has data to load or to write."""


@contextmanager
def redis_server(*settings: str, folder: Path | None = None) -> Iterator[str]:
    """The URL of a server with the search module, e.g. of `redis_server("--maxmemory", "50mb")`.

    It begins empty, or with what an earlier one has left in `folder`.
    """
    (port,) = free_ports(1)
    with _running(port, *settings, folder=folder) as wait:
        wait()
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def redis_cluster(
    nodes: int = 3, *settings: str, folder: Path | None = None, ports: Sequence[int] = ()
) -> Iterator[str]:
    """The URL of one node of a cluster without replicas, in which every slot is served.

    Each node has two of the `ports`. With the ones of an earlier cluster it begins with what that left in `folder`.
    """
    ports = ports or free_ports(2 * nodes)
    data_ports, bus_ports = ports[:nodes], ports[nodes:]
    with ExitStack() as stack:
        waits = []
        for port, bus_port in zip(data_ports, bus_ports, strict=True):
            own = None if folder is None else folder / str(port)
            clustered = ("--cluster-enabled", "yes", "--cluster-port", str(bus_port), *settings)
            waits.append(stack.enter_context(_running(port, *clustered, folder=own)))
        for wait in waits:
            wait()
        clients = [stack.enter_context(Redis(port=port)) for port in data_ports]
        if int(clients[0].execute_command("CLUSTER INFO")["cluster_known_nodes"]) == 1:
            _form(clients, data_ports[0], bus_ports[0])
        wait_until(lambda: all(_is_complete(client, nodes) for client in clients), 30)
        yield f"redis://127.0.0.1:{data_ports[0]}/0"


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Return as soon as `condition` holds; fail when it doesn't within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not so after {seconds} s"
        time.sleep(0.02)


@contextmanager
def _running(port: int, *settings: str, folder: Path | None) -> Iterator[Callable[[], None]]:
    """A server that was started; what is given waits until it answers."""
    server, search_module = find_binaries()
    with tempfile.TemporaryDirectory() as temporary:
        home = folder or Path(temporary)
        home.mkdir(exist_ok=True)
        command = [str(server), "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(home)]
        command += ["--logfile", "redis.log", "--loadmodule", str(search_module), *settings]
        process = subprocess.Popen(command)

        def wait() -> None:
            wait_until(lambda: process.poll() is not None or _answers(port), _LOADING if folder else 10)
            assert process.poll() is None, (home / "redis.log").read_text()

        try:
            yield wait
        finally:
            process.terminate()
            process.wait(_LOADING if folder else 10)


def _answers(port: int) -> bool:
    with Redis(port=port) as client:
        try:
            return bool(client.ping())
        except RedisError:
            return False


def _form(clients: list[Redis], first_port: int, first_bus_port: int) -> None:
    share = -(-_SLOTS // len(clients))
    for number, client in enumerate(clients):
        start, end = number * share, min((number + 1) * share, _SLOTS) - 1
        client.execute_command("CLUSTER SET-CONFIG-EPOCH", number + 1)
        client.execute_command("CLUSTER ADDSLOTSRANGE", start, end)
        client.execute_command("CLUSTER MEET", "127.0.0.1", first_port, first_bus_port)


def _is_complete(client: Redis, nodes: int) -> bool:
    info = client.execute_command("CLUSTER INFO")
    return (
        info["cluster_state"] == "ok"
        and int(info["cluster_known_nodes"]) == nodes
        and int(info["cluster_slots_ok"]) == _SLOTS
    )


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 on which nothing listens."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in sockets]
