"""Plans: work written once, as generators that say what they need; runners do the I/O, blocking or async.

A plan yields a step (the opened store, texts to embed, Redis commands), receives the answer, and returns its result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from attrs import frozen

if TYPE_CHECKING:
    from tiered_memory.engine.keys import Keyspace

T = TypeVar("T")

Command: TypeAlias = "tuple[str | bytes | int | float, ...]"


@frozen
class Open:
    """Asks for the opened store; answered by its `Keyspace`."""


@frozen
class Embed:
    """Asks for the embeddings of texts; answered by a list of `Embedding`, in their order."""

    texts: tuple[str, ...]


@frozen
class Commands:
    """Asks for Redis commands in one round trip; answered by the list of their replies.

    Only a `repeatable` batch is sent again after a fault of the network that leaves its fate unknown.
    The first refusal of the server is raised, unless `keep_errors` asks for refusals among the replies.
    A `hurried` batch doesn't take along what was left for later.
    """

    commands: tuple[Command, ...]
    repeatable: bool = True
    keep_errors: bool = False
    hurried: bool = False


@frozen
class Later:
    """Leaves something to be sent along with some later batch; whether that succeeds is of no concern.

    What was left with the same `make` is turned into commands together, when it is sent.
    """

    make: Callable[[list[Any]], Iterable[Command]]
    left: Any


@frozen
class Pause:
    """Asks to go on after a number of seconds."""

    seconds: float


@frozen
class Call:
    """Asks for a function's result; it is kept off the event loop, and what is awaitable is awaited there.

    Where plans are awaited, `awaited` is called instead, on the event loop, if there is one.
    """

    function: Callable[[], Any]
    awaited: Callable[[], Awaitable[Any]] | None = None


@frozen
class Embedding:
    """A text's vector as bytes, and whether only the text's beginning fitted into the model.

    The vector is empty while the embedder is out of reach, and the text shall be embedded later.
    """

    vector: bytes
    cut: bool = False


Step: TypeAlias = "Open | Embed | Commands | Later | Pause | Call"
Plan: TypeAlias = "Generator[Step, Any, T]"


def opened() -> Plan[Keyspace]:
    """The opened store's keys; the first call connects, checks the server and makes the indexes."""
    keyspace: Keyspace = yield Open()
    return keyspace


def ask(
    *commands: Command, repeatable: bool = True, keep_errors: bool = False, hurried: bool = False
) -> Plan[list[Any]]:
    """The replies of `commands`, sent in one round trip."""
    if not commands:
        return []
    replies: list[Any] = yield Commands(commands, repeatable, keep_errors, hurried)
    return replies


def embed(texts: Sequence[str]) -> Plan[list[Embedding]]:
    """The embeddings of `texts`, from one call to the embedder; no call for no text."""
    if not texts:
        return []
    embeddings: list[Embedding] = yield Embed(tuple(texts))
    return embeddings


def call(function: Callable[..., Any], *arguments: Any) -> Plan[Any]:
    """The result of `function`, which may block, or be async where the plan is awaited."""
    return (yield Call(lambda: function(*arguments)))


def join(plans: Iterable[Plan[T]]) -> Plan[list[T]]:
    """Advances several opened plans together: what they ask for at the same time becomes one batch.

    Embeddings go first, so that plans which embed before they read still share one round trip.
    """
    running = list(plans)
    if len(running) == 1:
        return [(yield from running[0])]
    results: dict[int, T] = {}
    pending: dict[int, Embed | Commands] = {}
    answers: dict[int, Any] = dict.fromkeys(range(len(running)))
    try:
        while answers:
            for place, answer in answers.items():
                try:
                    pending[place] = running[place].send(answer)  # type: ignore[assignment]
                except StopIteration as stop:
                    results[place] = stop.value
            answers = yield from _serve(pending)
            for place in answers:
                del pending[place]
    finally:
        for plan in running:
            plan.close()
    return [results[place] for place in range(len(running))]


def _serve(pending: dict[int, Embed | Commands]) -> Plan[dict[int, Any]]:
    texts = {place: step.texts for place, step in pending.items() if isinstance(step, Embed)}
    if texts:
        unique = tuple(dict.fromkeys(text for wanted in texts.values() for text in wanted))
        found = dict(zip(unique, (yield Embed(unique)), strict=True))
        return {place: [found[text] for text in wanted] for place, wanted in texts.items()}
    batches = {place: step for place, step in pending.items() if isinstance(step, Commands)}
    if not batches:
        return {}
    merged = tuple(command for step in batches.values() for command in step.commands)
    repeatable = all(step.repeatable for step in batches.values())
    hurried = all(step.hurried for step in batches.values())
    replies = iter((yield Commands(merged, repeatable, hurried=hurried)))
    return {place: [next(replies) for _ in step.commands] for place, step in batches.items()}
