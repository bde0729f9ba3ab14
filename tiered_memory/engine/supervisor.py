"""Keeps a private Redis running while anybody holds its data folder; a script that `launch.py` starts.

It is called in the data folder as `supervisor.py LOCK END COMMAND...`: the inherited descriptor of
`server.lock`, which is taken; `keep` or `delete`, what becomes of the folder; and what starts the server.
It imports nothing but the standard library, so that it starts fast and stays small.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

_STOP_SECONDS = 10.0
_SHORT_LIFE_SECONDS = 1.0
_PR_SET_PDEATHSIG = 1


class _Server:
    """The server's process; it is started again whenever it ends unasked."""

    def __init__(self, command: list[str], lock: int) -> None:
        self._command = command
        self._lock = lock
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> None:
        """Run the server until it is stopped; exit when it ends unasked as soon as it starts."""
        while process := self._start():
            started = time.monotonic()
            code = process.wait()
            if not self._stopped and time.monotonic() - started < _SHORT_LIFE_SECONDS:
                sys.exit(f"the server ended at its start with code {code}")

    def stop(self) -> None:
        """End the server in order; by force when that takes too long."""
        with self._guard:
            self._stopped = True
            if self._process is None:
                return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _start(self) -> subprocess.Popen[bytes] | None:
        with self._guard:
            if not self._stopped:
                self._process = subprocess.Popen(
                    self._command,
                    pass_fds=[self._lock],  # while the server lives no other can start on its files
                    preexec_fn=_end_with_parent,  # noqa: PLW1509 - the other thread is in flock, it holds no lock
                )
                return self._process
        return None


def _end_with_parent() -> None:
    """Let the kernel end this process in order should its parent be killed (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _stop_when_unheld(server: _Server) -> None:
    holders = os.open("holders.lock", os.O_RDWR)
    fcntl.flock(holders, fcntl.LOCK_EX)  # it is kept to the end: whoever opens the folder now waits for that
    server.stop()


def main(lock: int, delete: bool, command: list[str]) -> None:
    """Leave the caller, run the server, and stop it when nobody holds the folder any more."""
    if os.fork():
        os._exit(0)  # the caller has no child left to wait for
    os.umask(0o077)
    signal.signal(signal.SIGTERM, lambda *_: None)  # a service's stop reaches us too; its holders decide
    server = _Server(command, lock)
    threading.Thread(target=_stop_when_unheld, args=[server], daemon=True).start()
    server.run()
    if delete:
        shutil.rmtree(os.getcwd(), ignore_errors=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "delete", sys.argv[3:])
