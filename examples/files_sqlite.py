"""Files of an agent that are kept in a SQLite table of yours, through four callbacks.

Run it with `python examples/files_sqlite.py`; it needs no server, no network and no key. With REDIS_URL in the
environment it uses that server.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from tiered_memory import MemoryConfig, memory
from tiered_memory.errors import FileNotFound
from tiered_memory.files import FileSystem

CONFIG = MemoryConfig(data_dir=":temp:", namespace="example-files-sqlite")

Context = Mapping[str, Any]


class SqliteFiles:
    """A table of files by user; the scope that the callbacks get is the user's name."""

    def __init__(self) -> None:
        self.database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self.database.execute("CREATE TABLE files (user, path, content, PRIMARY KEY (user, path))")

    def on_write(self, user: str, path: str, content: str | bytes, context: Context) -> None:
        """Keeps the full content of a file."""
        self.database.execute("REPLACE INTO files VALUES (?, ?, ?)", (user, path, content))

    def on_read(self, user: str, path: str, context: Context) -> str | bytes | None:
        """The content of a file, or None."""
        row = self.database.execute("SELECT content FROM files WHERE user = ? AND path = ?", (user, path)).fetchone()
        return row[0] if row else None

    def on_delete(self, user: str, path: str, context: Context) -> None:
        """Deletes a file."""
        self.database.execute("DELETE FROM files WHERE user = ? AND path = ?", (user, path))

    def on_list(self, user: str, context: Context) -> list[str]:
        """The paths of all files of the user."""
        return [path for (path,) in self.database.execute("SELECT path FROM files WHERE user = ?", (user,))]


def main() -> None:
    """Writes and edits files, and shows what the table has of it."""
    store = SqliteFiles()
    with memory(CONFIG) as mem, FileSystem(mem.scoped("user:ada"), store, scope="ada") as files:
        files.write("/notes/tea.md", "# Tea\nLikes green tea.\n")
        files.edit("/notes/tea.md", "green", "black")
        store.on_write("ada", "/notes/milk.md", "No milk.\n", {})
        store.on_write("bob", "/notes/tea.md", "Hates tea.\n", {})
        for line in files.find("tea", ignore_case=True).lines:
            print(f"{line.path}:{line.number}: {line.text}")
        print([info.path for info in files.list("/notes").items])
        files.move("/notes", "/archive")
        print(store.on_list("ada", {}))
        try:
            files.read("/notes/tea.md")
        except FileNotFound as error:
            print(error)
        mem.clear()
    store.database.close()


if __name__ == "__main__":
    main()
