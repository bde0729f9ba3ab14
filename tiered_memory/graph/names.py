"""Finds names by their capital letters: people, places and products, as chat writes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile

from attrs import field, frozen

from tiered_memory.terms import STOP_WORDS

Span = tuple[int, int, str]
"""Where something was found, and what is to be its name."""

USED = "\0"
"""Takes the place of what another finder has found, as long as before; no word, and no space."""

MOST_WORDS = 8
"""The longest name; a longer run of capitalised words is somebody who shouts."""

# a combining accent is no letter to `re`, yet belongs to its word
_TOKEN = re.compile(
    r"[^\W\d_](?:\.[^\W\d_])+(?!\w)"  # J.R.R
    "|[^\\W\\d_][\\w\u0300-\u036f]*(?:[&’'-]\\w[\\w\u0300-\u036f]*|\\.[a-z]\\w*)*"  # O'Brien, Node.js
    rf"|[\w{USED}]+"
)
_INITIALS = re.compile(r"[^\W\d_](?:\.[^\W\d_])*")
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof", "st", "mt", "rev", "capt", "sgt", "lt", "sen", "gov"))

_SMALL = "of the|of|de la|de los|de|da|do|del|di|la|le|van der|van den|van de|van|von der|von|al|bin|&"
_BETWEEN = re.compile(rf"[ \t]+(?:(?:{_SMALL})[ \t]+)?")
_AFTER_SHORT = re.compile(r"\.[ \t]?")
_SENTENCE_ENDS = re.compile(r"[.!?…:;|>•*](?=[\s\"'“”‘’«»()\[\]*_-]|\Z)|[\n\r]|[-–—](?=\s)")

_CLITIC = re.compile(r"['’](?:s|d|m|ll|re|ve)\Z")
_APOSTROPHE = re.compile("['’]")
_BETWEEN_INITIALS = re.compile(r"\. ?(?=[A-Z](?![\w&’'-]))")
_DOT = re.compile(r"\.(?: |(?=[A-Z]))")

_DAYS_AND_MONTHS = """
    monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december
"""
_OPENINGS = """
    hey hi hiya hello yo howdy dear bye goodbye cheers thx thank thanks congrats congratulations sorry welcome wow whoa
    oh ooh ah aw aww ugh oops yay yeah yep yup nah nope ok okay alright sure exactly absolutely definitely totally
    certainly indeed ha haha hahaha lol omg hm hmm um uh yesterday today tonight tomorrow recently lately currently
    finally maybe perhaps luckily fortunately unfortunately actually honestly anyway besides meanwhile later earlier
    sometimes usually often always
"""
_CALENDAR = frozenset(_DAYS_AND_MONTHS.split())
_FIRST_NAMES = frozenset(("april", "june", "august"))
_SAYS_NOTHING = STOP_WORDS | frozenset(_OPENINGS.split()) | (_CALENDAR - _FIRST_NAMES)
_ONLY_A_TIME = _CALENDAR | {"last", "next", "early", "late", "mid"}


@frozen
class _Run:
    """Capitalised words in a row, and whether the first begins a sentence."""

    opens: bool
    words: list[re.Match[str]] = field(factory=list)


def names(text: str) -> Iterator[Span]:
    """The names in `text`, but for a word alone that may have its capital from beginning a sentence."""
    return (span for opens, span in _named(text) if not opens)


def openers(text: str) -> Iterator[Span]:
    """The words with a capital that stand alone at the beginning of a sentence, and say something."""
    return (span for opens, span in _named(text) if opens)


def _named(text: str) -> Iterator[tuple[bool, Span]]:
    for run in _runs(text):
        words = list(dropwhile(lambda word: _plain(word[0]) in _SAYS_NOTHING, run.words))
        if 0 < len(words) <= MOST_WORDS and not all(_plain(word[0]) in _ONLY_A_TIME for word in words):
            alone = len(words) == 1 == len(run.words) and not _has_inner_capital(words[0][0])
            yield run.opens and alone, _span(text, words)


def _runs(text: str) -> Iterator[_Run]:
    """Runs of words with a capital, joined by spaces or by small words as in "Bank of America"; the first is empty."""
    run = _Run(opens=True)
    before: re.Match[str] | None = None
    for word in _TOKEN.finditer(text):
        opens = before is None or _ends_sentence(text, before, word)
        before = word
        if not _has_capital(text, word):
            continue
        if not run.words or not _joined(text, run.words[-1], word):
            yield run
            run = _Run(opens)
        run.words.append(word)
    yield run


def _has_capital(text: str, word: re.Match[str]) -> bool:
    name = word[0]
    if len(name) == 1:
        return name.isupper() and text.startswith(".", word.end())
    return (name[0].isupper() or _has_inner_capital(name)) and _APOSTROPHE.split(name)[0] != "I"


def _has_inner_capital(word: str) -> bool:
    """Whether a word is written like iPhone or LeBron, which no sentence's start explains."""
    return word[0].isalpha() and not word.isupper() and any(each.isupper() for each in word[1:])


def _joined(text: str, before: re.Match[str], word: re.Match[str]) -> bool:
    """Whether two capitalised words may be one name; "Ana's Rome" is two."""
    if _CLITIC.search(before[0]):
        return False
    between = _AFTER_SHORT if _is_short(before[0]) and text[before.end()] == "." else _BETWEEN
    return bool(between.fullmatch(text, before.end(), word.start()))


def _ends_sentence(text: str, before: re.Match[str], word: re.Match[str]) -> bool:
    if _is_short(before[0]) and _AFTER_SHORT.fullmatch(text, before.end(), word.start()):
        return False
    return bool(_SENTENCE_ENDS.search(text, before.end(), word.start()))


def _is_short(word: str) -> bool:
    """Whether a full stop after a word doesn't end a sentence: "Dr.", "J."."""
    return word[0].isupper() and (word.lower() in _TITLES or bool(_INITIALS.fullmatch(word)))


def _plain(word: str) -> str:
    """A word without what an apostrophe adds to it: "here" for "Here's", but "dont" for "Don't"."""
    return _APOSTROPHE.sub("", _CLITIC.sub("", word.lower()))


def _span(text: str, words: list[re.Match[str]]) -> Span:
    """The name as the text has it, but for full stops: "J. K. Rowling" and "J.K. Rowling" are one."""
    start, end = words[0].start(), words[-1].end()
    return start, end, _DOT.sub(" ", _BETWEEN_INITIALS.sub("", _CLITIC.sub("", text[start:end])))
