"""The Lua scripts, each one atomic step inside one partition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import sha1
from importlib.resources import files

from tiered_memory.plan import Command

_ALSO: dict[str, tuple[str, ...]] = {"remember": ("records",), "promote": ("records",), "surface": ("records",)}
_ALSO |= {f"files_{each}": ("files",) for each in ("write", "list", "delete", "move", "clear")}
_ALSO |= {f"graph_{each}": ("graph",) for each in ("index", "close", "forget", "clear", "list", "facts", "reach")}
_ALSO |= {
    f"sessions_{each}": ("commits", "sessions") for each in ("create", "append", "read", "restore", "remove", "clear")
}
_ALSO |= {f"tree_{each}": ("tree",) for each in ("get", "children", "list", "clear", "stats", "enable", "group")}
_ALSO |= {f"tree_{each}": ("tree", "scan") for each in ("paths", "keyword", "grep")}
_ALSO["tree_put"] = ("tree", "jobs")
_ALSO["tree_layer"] = ("tree", "jobs", "results")
_ALSO["tree_remove"] = ("tree", "jobs", "jobs_removal", "commits", "commits_removed", "memories_removed")
_ALSO["tree_clear"] = ("tree", "memories_removed")
_ALSO |= {"vectors_store": ("tree", "jobs", "results"), "vectors_backfill": ("tree", "jobs")}
_ALSO |= {"vectors_stats": ("tree",), "vectors_reclaim": ("tree",), "skills_list": ("tree",)}
_ALSO["skills_replace"] = _ALSO["tree_remove"]
_ALSO |= {"commits_read": ("commits",), "commits_put": ("tree", "jobs", "commits")}
_ALSO |= {"tree_export": ("tree",), "import_tree": ("tree", "jobs"), "import_commits": ("tree", "commits")}
_ALSO |= {"memories_read": ("tree",), "memories_stats": ("tree",), "memories_surface": ("records",)}
_ALSO["remember_in_tree"] = ("records", "tree", "jobs", "views", "remember")
_ALSO["import_records_in_tree"] = ("records", "tree", "jobs", "views", "import_records")
_ALSO |= {"import_records": ("records",), "import_notes": ("records",), "import_files": ("files",)}
_ALSO["import_facts"] = ("graph",)
_ALSO |= {
    f"jobs_{each}": ("jobs",)
    for each in ("enqueue", "cancel", "count", "count_kind", "due", "stats", "detail", "clear")
}
_ALSO |= {f"jobs_{each}": ("jobs", "jobs_work") for each in ("claim", "renew", "complete", "fail", "defer", "recover")}
"""What a script shares with others, beside `common`."""

_sources: dict[str, str] = {}


@cache
def _script(name: str) -> str:
    """The digest of a script, by which the server knows it once it has seen it."""
    folder = files(__name__)
    *shared, own = (
        folder.joinpath(f"{part}.lua").read_text() for part in ("common", "shown", *_ALSO.get(name, ()), name)
    )
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
