"""What all commands have in common: where the memories are, how to answer, and how to fail."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from attrs import evolve, frozen
from rich.console import Console

from tiered_memory.cli.output import Answer, console, write, write_error
from tiered_memory.config import GraphConfig
from tiered_memory.embedders.base import Embedder
from tiered_memory.errors import TieredMemoryError
from tiered_memory.memory import Memory, ScopedMemory, memory

Handle: TypeAlias = "Memory | ScopedMemory"

Url = Annotated[
    str | None,
    typer.Option(help="Where Redis is.", show_default="$REDIS_URL, else an embedded server"),
]
Namespace = Annotated[str, typer.Option(envvar="TIERED_MEMORY_NAMESPACE", help="The first part of every key in Redis.")]
DataDir = Annotated[
    Path | None,
    typer.Option(help="The embedded server's folder.", show_default="the user's data folder"),
]
EmbedderName = Annotated[
    str,
    typer.Option(envvar="TIERED_MEMORY_EMBEDDER", help="`static`, `minilm`, or `openai:MODEL`."),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]


@frozen
class Options:
    """The options that all commands have, and what follows from them.

    Attributes:
        url: Where Redis is; None: an embedded server.
        data_dir: The embedded server's folder; None: the user's data folder.
        namespace: The first part of every key.
        embedder_name: `static`, `minilm` or `openai:MODEL`.
        as_json: Whether to answer in JSON.
    """

    url: str | None
    data_dir: str | Path | None
    namespace: str
    embedder_name: str
    as_json: bool

    @property
    def console(self) -> Console:
        """Where to show progress; silent when the answer is JSON."""
        return console(quiet=self.as_json)

    def embedder(self) -> Embedder:
        """The embedder of that name; raises `MissingExtra`, or what its construction raises."""
        from tiered_memory import embedders

        kind, _, model = self.embedder_name.partition(":")
        if kind == "openai":
            return embedders.OpenAIEmbedder(model) if model else embedders.OpenAIEmbedder()
        if self.embedder_name not in ("static", "minilm"):
            raise typer.BadParameter(
                f"{self.embedder_name!r} is not static, minilm or openai:MODEL", param_hint="--embedder"
            )
        return embedders.StaticEmbedder() if kind == "static" else embedders.MiniLMEmbedder()

    def open(self, graph: GraphConfig | None = None) -> Memory:
        """A memory there."""
        place = {"url": self.url, "data_dir": self.data_dir, "namespace": self.namespace}
        return memory(place, embedder=self.embedder(), graph=graph)

    @contextmanager
    def open_scope(self, scope: str | None, graph: GraphConfig | None = None) -> Iterator[Handle]:
        """A handle there that is bound to one scope; None: the unscoped pool."""
        with self.open(graph) as mem:
            yield mem if scope is None else mem.scoped(scope)

    def open_at(self, url: str) -> Memory:
        """A memory at the URL that `redis` gave."""
        return evolve(self, url=url, data_dir=None).open()

    @contextmanager
    def redis(self) -> Iterator[str]:
        """The URL of the Redis there; an embedded one runs meanwhile."""
        if self.url:
            yield self.url
            return
        from tiered_memory.engine.embedded import EmbeddedRedis

        with EmbeddedRedis.open(self.data_dir) as server:
            yield f"unix://{server.socket}"


def _options(  # the signature from which each command takes these options
    url: Url = None,
    namespace: Namespace = "tiered-memory",
    data_dir: DataDir = None,
    embedder: EmbedderName = "static",
    as_json: Json = False,
) -> Options:
    if url and data_dir:
        raise typer.BadParameter("give either --url or --data-dir, not both")
    url = url or (None if data_dir else os.environ.get("REDIS_URL") or None)
    return Options(url, data_dir, namespace, embedder, as_json)


def command(app: typer.Typer, name: str | None = None) -> Callable[[Callable[..., Answer]], Callable[..., None]]:
    """Registers a function of `Options` and of options of its own as a command; the answer is printed as asked for.

    The command has the function's name, or the one that is given.
    """

    def register(function: Callable[..., Answer]) -> Callable[..., None]:
        common = inspect.signature(_options, eval_str=True).parameters
        _, *own = inspect.signature(function, eval_str=True).parameters.values()

        def run(**given: Any) -> None:
            options = _options(**{name: given.pop(name) for name in common})
            _answer(options, function, given)

        parameters = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in (*own, *common.values())]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return app.command(name or function.__name__, help=inspect.getdoc(function))(run)

    return register


def _answer(options: Options, function: Callable[..., Answer], given: dict[str, Any]) -> None:
    try:
        answer = function(options, **given)
    except TieredMemoryError as error:
        write_error(error, as_json=options.as_json)
        raise typer.Exit(1) from None
    write(answer, as_json=options.as_json)
    raise typer.Exit(answer.code)
