"""Turns texts into the terms that words are found by: folded, stemmed, without stop words, in any script."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from itertools import pairwise

from snowballstemmer import stemmer  # type: ignore[import-untyped]

_LONGEST = 64
"""Characters of a term; what a longer one has beyond is left out."""

_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]+)"
)
"""Runs of scripts that put no space between words, or join many parts to one: Thai, Lao, Burmese, Khmer, Chinese,
Japanese, Korean."""

_FUNCTION_WORDS = """
    a about after again all also although am an and any anyone anything are arent as at be because been before being
    both but by can cannot cant could couldnt did didnt do does doesnt doing dont during each either else ever every
    everyone everything few for from further get gets getting got had hadnt has hasnt have havent having he hed her here
    hers herself hes him himself his how hows i id if ill im in into is isnt it itd itll its itself ive just let lets
    many may me might mightnt more most much must mustnt my myself neither no nobody none nor not nothing now of off on
    once only or other our ours ourselves out over own please rather really same say says she shed shell shes should
    shouldnt since so some somebody someone something such than that thatd thatll thats the their theirs them themselves
    then there theres these they theyd theyll theyre theyve thing things this those though through till to too
    under until up upon us very was wasnt we wed well were werent weve what whatever whats when whenever where wherever
    wheres whether which whichever while who whoever whom whos whose why will with within without wont would wouldnt yes
    yet you youd youll your youre yours yourself yourselves youve
"""

STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that say nothing about what a text is about: English function words, without their apostrophes."""


class _Separators(dict[int, str | None]):
    """What each character becomes: itself in words and numbers, nothing for an apostrophe, else a space."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        kept = unicodedata.category(character)[0] in "LMN"
        self[code] = None if character in "'\u2019" else character if kept else " "
        return self[code]


_SEPARATORS = _Separators()
_stemmer = stemmer("english")


def terms(text: str) -> list[str]:
    """The terms of `text` in its order, repeated as they are in it.

    A word is folded (NFKC, case), freed of apostrophes and stemmed by Snowball's English rules; stop words go. Of
    a run without spaces, as Chinese or Thai has them, each character is a term, and each pair of neighbours.
    """
    if text.isascii():
        return [term for term in map(_stem, _words(text)) if term]
    return [term for word in _words(text) for term in _terms_of(word, asked=False)]


def asked_terms(text: str, most: int) -> list[str]:
    """The first `most` different terms to look for when `text` is asked: of a run without spaces only the pairs."""
    found = dict.fromkeys(term for word in _words(text) for term in _terms_of(word, asked=True))
    return list(found)[:most]


def _words(text: str) -> list[str]:
    return unicodedata.normalize("NFKC", text).casefold().translate(_SEPARATORS).split()


def _terms_of(word: str, *, asked: bool) -> list[str]:
    if word.isascii() or not _UNSPACED.search(word):
        term = _stem(word)
        return [term] if term else []
    found: list[str] = []
    for place, part in enumerate(_UNSPACED.split(word)):
        if place % 2 == 0:
            found += _terms_of(part, asked=asked) if part else []
        else:
            pairs = [first + second for first, second in pairwise(part)]
            found += pairs if asked and pairs else [*part, *pairs]
    return found


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    """A word's stem, or nothing for a stop word."""
    return "" if word in STOP_WORDS else _stemmer.stemWord(word[:_LONGEST])
