"""`tiered-memory worker`: does the jobs of the queue until it is told to stop, and shows how it gets on."""

from __future__ import annotations

import importlib
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import asdict
from rich.console import Console

from tiered_memory.cli.jobs import WholeQueue
from tiered_memory.cli.options import Options, command
from tiered_memory.cli.output import Answer, counted
from tiered_memory.config import GraphConfig
from tiered_memory.graph import PatternExtractor
from tiered_memory.store.work_events import JobEvent

app = typer.Typer()

_WORDS = {"done": "done", "retrying": "to be tried again", "failed": "failed", "deferred": "put off", "lost": "lost",
          "given_back": "given back"}  # fmt: skip


def _imported(name: str) -> Any:
    module, _, attribute = name.partition(":")
    try:
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise typer.BadParameter(f"{name!r} can't be imported as MODULE:NAME ({type(error).__name__})") from None


def _extractor(name: str) -> Any:
    return PatternExtractor() if name == "patterns" else _imported(name)


@command(app)
def worker(
    options: Options,
    scope: WholeQueue = None,
    handlers: Annotated[
        Any, typer.Option(parser=_imported, metavar="MODULE:NAME", help="A mapping of kinds to your own functions.",
                          show_default="none"),
    ] = None,
    summarise: Annotated[
        Any, typer.Option(parser=_imported, metavar="MODULE:NAME", help="A function that makes a long text short.",
                          show_default="none; nothing is summarised"),
    ] = None,
    extractor: Annotated[
        Any, typer.Option(parser=_extractor, metavar="MODULE:NAME", help="What finds the entities of memories: "
                          "`patterns`, or an extractor of your own.", show_default="none; none is indexed"),
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option(help="A kind to do; may be repeated.", show_default="all with a handler")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="How many jobs at a time.")] = 4,
    lease: Annotated[float, typer.Option(metavar="SECONDS", help="After how long others take over what hangs.")] = 60.0,
    grace: Annotated[float, typer.Option(metavar="SECONDS", help="How long what runs may take in the end.")] = 10.0,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="Stop when there is nothing to do.")] = False,
) -> Answer:  # fmt: skip
    """Do the jobs of the queue, until it is stopped (Ctrl-C or SIGTERM), which finishes or gives back what runs."""
    graph = None if extractor is None else GraphConfig(extractor=extractor)
    with options.open_scope(scope, graph) as handle, _progress(options.console) as told, _told_to_stop() as stop:
        report = handle.store.jobs.work(
            handlers,
            summarise=summarise,
            kinds=kind,
            concurrency=concurrency,
            lease=lease,
            grace=grace,
            until_idle=until_idle,
            stop=stop,
            on_event=told,
        )
    return Answer(asdict(report), f"jobs: {_counts(asdict(report))}")


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that is set by the first of SIGTERM and SIGINT; another one does what it would otherwise."""
    stop, before = threading.Event(), {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGINT)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def told(*_: object) -> None:
        stop.set()
        restore()

    for number in before:
        signal.signal(number, told)
    try:
        yield stop
    finally:
        restore()


@contextmanager
def _progress(console: Console) -> Iterator[Any]:
    """A function that takes events, and keeps a line up to date that says how many jobs there were."""
    counts, lock = Counter[str](), threading.Lock()
    with console.status("waiting for jobs") as line:

        def told(event: JobEvent) -> None:
            with lock:
                counts[event.outcome] += 1
                running = counts["claimed"] - sum(counts[name] for name in _WORDS)
                line.update(f"{counted(running, 'job')} running; {_counts(counts)}")

        yield told


def _counts(counts: Any) -> str:
    shown = [f"{counts[name]} {word}" for name, word in _WORDS.items() if counts[name] or name == "done"]
    return ", ".join(shown)
