"""The Lua scripts, each one atomic step inside one partition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from importlib.resources import files

from tiered_memory.plan import Command

_ALSO = {"remember": ("records",), "promote": ("records",), "surface": ("records",)}
_ALSO |= {f"files_{each}": ("files",) for each in ("write", "list", "delete", "move", "clear")}
"""What a script shares with others, beside `common`."""

_sources: dict[str, str] = {}


@cache
def _script(name: str) -> str:
    """The digest of a script, by which the server knows it once it has seen it."""
    folder = files(__name__)
    *shared, own = (folder.joinpath(f"{part}.lua").read_text() for part in ("common", *_ALSO.get(name, ()), name))
    shebang, _, rest = own.partition("\n") if own.startswith("#!") else ("#!lua", "", own)
    source = "\n".join([shebang, *shared, rest])
    sha = sha1(source.encode(), usedforsecurity=False).hexdigest()
    _sources[sha] = source
    return sha


def call(name: str, key: str, arguments: Iterable[str | bytes | int | float]) -> Command:
    """The command that runs script `name` in the partition of `key`."""
    return ("EVALSHA", _script(name), 1, key, *arguments)


def in_full(command: Command) -> Command:
    """The same call with the script's text, for a server that hasn't seen it."""
    return ("EVAL", _sources[str(command[1])], *command[2:])
