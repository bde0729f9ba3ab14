"""The demo: an agent remembers a conversation, answers five questions from it, and forgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from secrets import token_hex
from textwrap import shorten
from typing import Any

from attrs import evolve
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from tiered_memory import clock
from tiered_memory.cli.conversation import QUESTIONS, SESSIONS, Question, Turn, conversation
from tiered_memory.cli.options import Options
from tiered_memory.cli.output import Answer, ago, hits_table, plain, why
from tiered_memory.cli.server import look, without_secrets
from tiered_memory.engine.embedded import TEMPORARY
from tiered_memory.items import Hits
from tiered_memory.memory import Memory, ScopedMemory

_HITS = 3
_TIERS = ("working", "semantic", "episodic", "procedural")

_NEXT = """\
tiered-memory remember "Prefers metric units." --scope user:42
tiered-memory recall "Which units?" --scope user:42
tiered-memory doctor"""


def run(options: Options) -> Answer:
    """Plays the demo, in scopes of its own of which nothing is left in the end.

    Without a URL or a folder it has an embedded Redis of its own, which is thrown away.
    """
    if options.url is None and options.data_dir is None:
        options = evolve(options, data_dir=TEMPORARY)
    say = options.console
    with options.redis() as url:
        redis = _introduce(say, options, url)
        with options.open_at(url) as mem:
            played = _play(say, mem)
    return Answer({"redis": redis, **played}, Group(_heading("Next, with memories that stay"), _body(_NEXT)))


def _introduce(say: Console, options: Options, url: str) -> str:
    server, embedder = look(options.namespace, url), options.embedder()
    say.print(_heading("An agent's memory on a real Redis"))
    say.print(_body(f"Redis     {server.version} with search {server.search}, {_where(options)}"))
    say.print(_body(f"Embedder  {embedder.id}, {embedder.dimensions} dimensions"))
    return server.version


def _where(options: Options) -> str:
    if options.url:
        return without_secrets(options.url)
    temporary = str(options.data_dir) == TEMPORARY
    return "embedded, thrown away in the end" if temporary else f"embedded in {options.data_dir}"


def _play(say: Console, mem: Memory) -> dict[str, Any]:
    name = f"demo-{token_hex(2)}"
    mara, tom = mem.scoped(f"{name}:mara"), mem.scoped(f"{name}:tom")
    try:
        turns = conversation(clock.now())
        outcomes = _remember(say, mara, turns)
        answers = [_ask(say, mara, number, question) for number, question in enumerate(QUESTIONS, 1)]
        return {
            "scope": mara.scope,
            "turns": len(turns),
            "outcomes": outcomes,
            "answers": answers,
            "other_scope": _ask_in_another(say, tom),
            "end": _end(say, mara),
        }
    finally:
        mara.clear()


def _remember(say: Console, mara: ScopedMemory, turns: Sequence[Turn]) -> dict[str, int]:
    say.print(_heading(f"Mara and her assistant talk: {len(turns)} turns, each remembered in its tier"))
    columns = TextColumn("  Remembering"), BarColumn(), MofNCompleteColumn()
    outcomes: Counter[str] = Counter()
    with Progress(*columns, console=say) as progress:
        for turn in progress.track(turns):
            (remembered,) = mara.remember(turn.item)
            outcomes[remembered.outcome] += 1
    say.print()
    say.print(_body(_sessions(turns)))
    say.print()
    new, reworded = outcomes["recorded"], outcomes["superseded"]
    say.print(_body(f"{new} turns are new; {reworded} reword what was said before, and supersede it."))
    return dict(outcomes)


def _sessions(turns: Sequence[Turn]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("session", no_wrap=True)
    for tier in _TIERS:
        table.add_column(tier, justify="right", header_style="cyan", no_wrap=True)
    table.add_column("begins")
    for session, group in groupby(turns, lambda turn: turn.session):
        said = [turn.item for turn in group]
        counts = Counter(item.tier for item in said)
        table.add_row(ago(SESSIONS[session]), *(str(counts[tier]) for tier in _TIERS), _beginning(said[0].text))
    return table


def _beginning(text: str) -> str:
    return shorten(text, 24, placeholder=" …")


def _ask(say: Console, mara: ScopedMemory, number: int, question: Question) -> dict[str, Any]:
    hits = mara.recall(question.text, k=_HITS, tier=question.tiers)
    say.print(_heading(f"{number}. {question.text}"))
    say.print(_body(Text(question.shows, style="italic")))
    say.print()
    say.print(_body(hits_table(hits)))
    return {"question": question.text, "shows": question.shows, "expects": question.expects, "hits": _explained(hits)}


def _explained(hits: Hits) -> list[dict[str, Any]]:
    now = clock.now()
    return [{**plain(hit), "why": why(hit, now)} for hit in hits]


def _ask_in_another(say: Console, tom: ScopedMemory) -> Mapping[str, Any]:
    hits = sum(len(tom.recall(question.text)) for question in QUESTIONS)
    say.print(_heading("Another scope sees nothing"))
    say.print(_body(f"The same five questions in scope {tom.scope}: {hits} hits."))
    return {"scope": tom.scope, "hits": hits}


def _end(say: Console, mara: ScopedMemory) -> Mapping[str, int]:
    notes = mara.clear("working")
    kept = mara.count()
    rest = mara.clear()
    say.print(_heading("The session ends"))
    say.print(_body(f'clear("working") forgets {notes} notes; {kept} memories stay for the next session.'))
    say.print(_body(f"clear() forgets these {rest} too: nothing of the demo is left."))
    return {"cleared_working": notes, "kept": kept, "cleared": rest}


def _heading(text: str) -> RenderableType:
    return Group(Text(), Text(text, style="bold"))


def _body(content: RenderableType) -> RenderableType:
    return Padding(content, (0, 0, 0, 2), expand=False)
