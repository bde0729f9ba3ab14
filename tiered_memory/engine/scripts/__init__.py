"""The Lua scripts, each one atomic step inside one partition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from importlib.resources import files

from tiered_memory.plan import Command

_ALWAYS = ("common", "shown", "woven")
"""What every script begins with; what else it shares with others it says in a line such as `-- with: tree, jobs`."""

_WITH = "-- with: "

_sources: dict[str, str] = {}


@cache
def _script(name: str) -> str:
    """The digest of a script, by which the server knows it once it has seen it."""
    own = _text(name)
    shebang, _, rest = own.partition("\n") if own.startswith("#!") else ("#!lua", "", own)
    shared = next((line[len(_WITH) :].split(", ") for line in own.splitlines()[:2] if line.startswith(_WITH)), [])
    source = "\n".join([shebang, *map(_text, (*_ALWAYS, *shared)), rest])
    sha = sha1(source.encode(), usedforsecurity=False).hexdigest()
    _sources[sha] = source
    return sha


def _text(name: str) -> str:
    return files(__name__).joinpath(f"{name}.lua").read_text()


def call(name: str, key: str, arguments: Iterable[str | bytes | int | float]) -> Command:
    """The command that runs script `name` in the partition of `key`."""
    return ("EVALSHA", _script(name), 1, key, *arguments)


def in_full(command: Command) -> Command:
    """The same call with the script's text, for a server that hasn't seen it."""
    return ("EVAL", _sources[str(command[1])], *command[2:])
