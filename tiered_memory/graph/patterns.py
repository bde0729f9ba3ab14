"""Finds entities by patterns: fast, without a model, in time that grows with the length of the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date

from attrs import frozen

from tiered_memory.errors import ConfigError, InvalidItem
from tiered_memory.graph.entities import MAX_NAME_BYTES, EntityRef
from tiered_memory.graph.extract import merged
from tiered_memory.graph.names import USED, Span, names, openers


@frozen
class _Finder:
    """Finds one kind of thing.

    Attributes:
        find: The spans of all that is found in a text.
        kind: The kind of entity for a name.
    """

    find: Callable[[str], Iterator[Span]]
    kind: Callable[[str], str]


def _by(pattern: str, keep: Callable[[str], bool] = bool) -> Callable[[str], Iterator[Span]]:
    """Finds what matches the pattern and is to be kept; a group in it, if any, is the name.

    A pattern must not be able to match one stretch in two ways, or the time may grow with the square of the text.
    """
    compiled = re.compile(pattern)

    def find(text: str) -> Iterator[Span]:
        for match in compiled.finditer(text):
            name = match[match.lastindex or 0]
            if keep(name):
                yield match.start(), match.end(), name

    return find


def _always(kind: str) -> Callable[[str], str]:
    return lambda _: kind


def _identifier_kind(name: str) -> str:
    prefix, _, number = name.partition("-")
    return {"TICKET": "Ticket", "POL": "Policy"}.get(prefix, "identifier") if number.isdecimal() else "identifier"


def _is_identifier(token: str) -> bool:
    """Whether letters and digits are mixed as in GPT-4o, RFC2119 or build_7, unlike 10am, 3rd or v2."""
    if token[0] == "#":
        return True
    mixed = token[0].isalpha() and any(each.isdigit() for each in token)
    return mixed and len(token) > 2 and (not token.islower() or "-" in token or "_" in token)


def _is_date(token: str) -> bool:
    try:
        return bool(date.fromisoformat(token))
    except ValueError:
        return False


def _is_title(quoted: str) -> bool:
    """Whether what is quoted looks like a title, not like speech: few words, the first with a capital or a digit."""
    return (quoted[0].isupper() or quoted[0].isdigit()) and len(quoted.split()) <= 8 and quoted[-1] not in ",.!?…"


_LOCAL = "A-Za-z0-9._%+-"
_TIME = r"T\d\d(?::\d\d){0,2}(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?"

_FINDERS = {
    "url": _Finder(_by(r"\b((?i:https?)://[^\s<>\"'“”`{}|\\^\0]*[^\s<>\"'“”`{}|\\^\0.,;:!?()\[\]])"), _always("url")),
    "email": _Finder(
        _by(rf"(?<![{_LOCAL}])[{_LOCAL}]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{{2,24}}(?![A-Za-z0-9-])"),
        _always("email"),
    ),
    "handle": _Finder(_by(r"(?<![\w.@/])@([^\W\d]\w*(?:[.-]\w+)*)"), _always("handle")),
    "tag": _Finder(_by(r"(?<![\w#&/])#(\w+)", lambda tag: not tag.isdecimal()), _always("tag")),
    "date": _Finder(_by(rf"(?<![\w-])(\d{{4}}-\d\d-\d\d)(?:{_TIME})?(?![\w-])", _is_date), _always("date")),
    "ticket": _Finder(_by(r"\b[A-Z][A-Z0-9]*-\d+\b"), _identifier_kind),
    "identifier": _Finder(_by(r"(?<![\w#&/])#\d{1,9}\b|\b[^\W_]+(?:[-_][^\W_]+)*\b", _is_identifier), _identifier_kind),
    "title": _Finder(_by(r"“([^”\n]{2,80})”|«([^»\n]{2,80})»|\"([^\"\n]{2,80})\"", _is_title), _always("title")),
    "name": _Finder(names, _always("name")),
    "opener": _Finder(openers, _always("name")),
}
"""What can be looked for; what comes first wins where two match."""

FINDS = tuple(_FINDERS)
"""What a `PatternExtractor` can look for."""

_DEFAULT = tuple(find for find in FINDS if find not in ("ticket", "opener"))


class PatternExtractor:
    """Finds entities by patterns, without a model: what can't be seen by its form isn't found.

    Args:
        find: What to look for; default: all but `ticket` and `opener`.
        most: How many entities it finds in a text at the most: the first.

    | find | finds | kind |
    |---|---|---|
    | `url` | `https://example.com/x` | `url` |
    | `email` | `ana@example.com` | `email` |
    | `handle` | `@ana` | `handle` |
    | `tag` | `#launch` | `tag` |
    | `date` | `2026-03-01` | `date` |
    | `identifier` | `TICKET-7`, `POL-7`; `GPT-4o`, `RFC2119`, `build_7`, `#42` | `Ticket`, `Policy`; `identifier` |
    | `ticket` | only capitals, digits, a hyphen, digits: `TICKET-7`, `POL-7`; `UTF-8` | as `identifier` |
    | `title` | a quoted title of up to eight words: “The Hobbit” | `title` |
    | `name` | capitalised words, unless one alone begins a sentence: Ana Lee, Bank of America | `name` |
    | `opener` | one capitalised word that begins a sentence, unless it says nothing, as “The” | `name` |

    Raises:
        ConfigError: `find` has something else, or `most` is less than 1.
    """

    def __init__(self, find: Collection[str] = _DEFAULT, *, most: int = 100) -> None:
        unknown = sorted({find} if isinstance(find, str) else {*find} - {*FINDS})
        if unknown:
            raise ConfigError(f"find={unknown} must be several of {', '.join(FINDS)}")
        if most < 1:
            raise ConfigError(f"most={most!r} must be at least 1")
        self.find = tuple(each for each in FINDS if each in find)
        self.most = most

    def __repr__(self) -> str:
        return f"PatternExtractor({list(self.find)})"

    def extract(self, text: str, hints: Sequence[EntityRef] = ()) -> list[EntityRef]:
        """The hints in their order, then what is found in the order of the text; each entity once."""
        found: list[tuple[int, str, str]] = []
        for each in self.find:
            finder = _FINDERS[each]
            spans = list(finder.find(text))
            found += [(start, finder.kind(name), name) for start, _, name in spans]
            text = _without(text, spans)
        entities = dict.fromkeys(entity for place in sorted(found) if (entity := _entity(*place[1:])))
        return merged(hints, list(entities)[: self.most])


def _without(text: str, spans: Sequence[Span]) -> str:
    """The text with marks in place of what was found, as long as before."""
    parts, end = [], 0
    for start, stop, _ in spans:
        parts += [text[end:start], USED * (stop - start)]
        end = stop
    return "".join((*parts, text[end:]))


def _entity(kind: str, name: str) -> EntityRef | None:
    # a name takes time that may grow with the square of its length, so it is measured before
    if len(name) > MAX_NAME_BYTES:
        return None
    try:
        return EntityRef(kind, name)
    except InvalidItem:  # too long in bytes, or no Unicode
        return None
