"""Exporting a scope and loading an archive into one: additive, in bounded memory, and checked before it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import field, frozen

from tiered_memory.archive.documents import Commits, Tree
from tiered_memory.archive.facts import Facts
from tiered_memory.archive.files import Files
from tiered_memory.archive.lines import Heading, Manifest, Reader, Writer
from tiered_memory.archive.memories import Candidates, Memories
from tiered_memory.archive.notes import Notes
from tiered_memory.archive.section import Place, Section
from tiered_memory.archive.sessions import Sessions
from tiered_memory.archive.settled import Settled
from tiered_memory.archive.streams import Input, Output, Source, Target
from tiered_memory.errors import DamagedArchive
from tiered_memory.operation import Blocking, NonBlocking, operation
from tiered_memory.plan import Plan, call, opened
from tiered_memory.tiers.enabled import Tiers

if TYPE_CHECKING:
    from tiered_memory.parts import AsyncParts, Parts

SECTIONS: tuple[type[Section], ...] = (
    Tree, Memories, Candidates, Settled, Notes, Files, Sessions, Commits, Facts,
)  # fmt: skip
"""What an archive holds, in this order: what a section's records refer to comes before it."""

Progress: TypeAlias = Callable[[str, int, "int | None"], None]
"""Told the section that is worked on, how many records are done, and of how many, where that is known."""

MOST_CONFLICTS = 1000
"""How many conflicts are named."""


@frozen
class Loaded:
    """What became of an archive's records.

    Attributes:
        manifest: What the archive holds.
        outcomes: How many records of each section were `imported`; were there already (`skipped`); were left out since
            something else stands there and stays (`conflict`), or since their time was up (`expired`).
        conflicts: The section and name of the first thousand conflicts.
    """

    manifest: Manifest
    outcomes: dict[str, dict[str, int]]
    conflicts: list[tuple[str, str]] = field(repr=False)


class ArchiveOperations:
    """Exporting and loading one scope."""

    _runner: Any
    _scope: str | None
    _tiers: Tiers

    @operation
    def export(self, target: Target, *, progress: Progress | None = None) -> Plan[Manifest]:
        """Writes everything that the scope holds as JSON lines: a heading, a line for each thing, and a manifest.

        Vectors and layers that jobs made are left out, since whoever loads the archive makes them anew. What others
        write meanwhile may be in it or not; each thing is as it was at one moment.

        Args:
            target: A path, which is replaced once all is written, or a file that is open for writing bytes.
            progress: Called after each part with the section's name, how many records are written, and None.

        Raises:
            StoreError: It can't be written, or Redis can't be reached.
        """
        sections = yield from self._sections()
        output: Output = yield from call(Output, target)
        try:
            writer = Writer(Heading(self._scope, self._runner.embedder.id))
            yield from call(output.write, writer.heading())
            for section in sections:
                yield from _export(section, writer, output, progress)
            yield from call(output.write, writer.end())
            yield from call(output.finish)
        except BaseException:
            output.discard()
            raise
        return writer.manifest

    @operation
    def check(self, source: Source) -> Plan[Manifest]:
        """Reads an archive through without writing anything; returns what it holds.

        Raises:
            DamagedArchive: It is cut short, was changed, isn't an archive, or holds what this memory can't have.
            StoreError: It can't be read.
        """
        sections = yield from self._sections()
        lines: Input = yield from call(Input, source)
        try:
            return (yield from _checked(lines, sections))
        finally:
            lines.close()

    @operation
    def load(self, source: Source, *, progress: Progress | None = None) -> Plan[Loaded]:
        """Adds what an archive holds to the scope; what stands there already stays.

        The archive is read through and checked before anything is written. Loading it again, or going on after an
        interruption, changes nothing that is there already. Texts are embedded by this memory's embedder.

        Args:
            source: A path, a file that is open for reading bytes, or an iterable of lines; what can't be rewound is
                kept in a temporary file meanwhile.
            progress: Called after each part with the section's name, how many records are done, and of how many.

        Raises:
            DamagedArchive: It is cut short, was changed, isn't an archive, or holds what this memory can't have;
                nothing was written.
            EmbeddingError: The embedder failed; what was loaded before stays.
            StoreError: It can't be read, or Redis can't be reached; what was loaded before stays.
        """
        sections = yield from self._sections()
        lines: Input = yield from call(Input, source)
        try:
            manifest = yield from _checked(lines, sections)
            yield from call(lines.rewind)
            return (yield from _load(lines, sections, manifest, progress))
        finally:
            lines.close()

    def _sections(self) -> Plan[list[Section]]:
        tiers = self._tiers
        place = Place((yield from opened()), self._scope, tiers.everything, tiers.words_of)
        return [section(place) for section in SECTIONS]


def _export(section: Section, writer: Writer, output: Output, progress: Progress | None) -> Plan[None]:
    cursor: str | None = None
    done = 0
    while True:
        part = yield from section.page(cursor)
        yield from call(output.write, writer.records(section.name, part.items))
        done += len(part.items)
        if progress is not None:
            progress(section.name, done, None)
        cursor = part.cursor
        if cursor is None:
            return


def _checked(lines: Input, sections: Sequence[Section]) -> Plan[Manifest]:
    """What an archive holds, once all of its lines were found right."""
    reader, parse = Reader(), _parser(sections)
    while batch := (yield from call(lines.batch)):
        for line in batch:
            reader.record(line, parse)
    return reader.manifest()


def _load(lines: Input, sections: Sequence[Section], manifest: Manifest, progress: Progress | None) -> Plan[Loaded]:
    by_name, parse = {section.name: section for section in sections}, _parser(sections)
    reader, done = Reader(), 0
    outcomes: dict[str, Counter[str]] = {name: Counter() for name in manifest.records}
    conflicts: list[tuple[str, str]] = []
    while batch := (yield from call(lines.batch)):
        found = [each for each in (reader.record(line, parse) for line in batch) if each is not None]
        for name, group in groupby(found, key=lambda each: each[0]):
            written = yield from by_name[name].load([parsed for _, parsed in group])
            outcomes[name].update(outcome for _, outcome in written)
            conflicts += [(name, called) for called, outcome in written if outcome == "conflict"]
            done += len(written)
            if progress is not None:
                progress(name, done, manifest.total)
        del conflicts[MOST_CONFLICTS:]
    return Loaded(manifest, {name: dict(counted) for name, counted in outcomes.items()}, conflicts)


def _parser(sections: Sequence[Section]) -> Callable[[str, dict[str, Any]], Any]:
    """Parses a record by its section."""
    by_name = {section.name: section for section in sections}

    def parse(name: str, record: dict[str, Any]) -> Any:
        if name not in by_name:
            raise DamagedArchive(f"the archive has a section {name!r}, which this release doesn't know")
        return by_name[name].parse(record)

    return parse


class Archive(ArchiveOperations, Blocking):
    """Exporting and loading one scope."""

    def __init__(self, handle: Parts) -> None:
        self._runner, self._scope, self._tiers = handle._runner, handle.scope, handle._tiers


class AsyncArchive(ArchiveOperations, NonBlocking):
    """Exporting and loading one scope, by operations that are awaited."""

    def __init__(self, handle: AsyncParts) -> None:
        self._runner, self._scope, self._tiers = handle._runner, handle.scope, handle._tiers
