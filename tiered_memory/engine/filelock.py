"""A lock between processes, which the kernel frees when its owner ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


class FileLock:
    """One party at the lock file `path`; two parties in one process exclude each other as well.

    Whoever has a copy of `fd` has the lock too: a forked child, or a process that it was passed to.
    """

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def take(self, *, shared: bool = False) -> bool:
        """Take the lock, alone or shared with others; False when that isn't possible now."""
        try:
            fcntl.flock(self.fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_free(self, *, shared: bool = False) -> bool:
        """Whether this party, which hasn't the lock, could take it."""
        free = self.take(shared=shared)
        if free:
            fcntl.flock(self.fd, fcntl.LOCK_UN)
        return free

    def close(self) -> None:
        """Leave, which frees the lock unless somebody has a copy of `fd`; closing again does nothing."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
