"""The months that an English text names, with or without a year."""

from __future__ import annotations

import re
from typing import TypeAlias

NamedMonth: TypeAlias = "tuple[int | None, int]"
"""A year, or None where the text names none, and a month from 1 to 12."""

_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_NUMBERS = {name: number for number, name in enumerate(_NAMES, 1)}
_NUMBERS |= {name[:3]: number for name, number in _NUMBERS.items()} | {"sept": 9}
_WORD = re.compile(
    r"(?<!\w)(?P<month>[A-Za-z]{3,9})\.?(?:\s+\d{1,2}(?:st|nd|rd|th)?\b)?(?:,?\s+(?:of\s+)?(?P<year>(?:19|20)\d\d)\b)?"
)
_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-(0[1-9]|1[0-2])(?!\d)")


def named_months(text: str) -> frozenset[NamedMonth]:
    """The months named in `text`, as "in May", "8 May 2023", "Sept. 3rd" or "2023-05-08" name them.

    What may be another word ("may", "march", "mar") must be capitalised, and not begin the text without a day or year.
    """
    found: set[NamedMonth] = {(int(year), int(month)) for year, month in _ISO.findall(text)}
    for match in _WORD.finditer(text):
        word, year = match["month"], match["year"]
        number = _NUMBERS.get(word.casefold())
        full = word.casefold() in _NAMES and word.casefold() not in ("may", "march")
        dated = match.start() > 0 or len(match[0]) > len(word)
        if number and (full or (word[0].isupper() and dated)):
            found.add((int(year) if year else None, number))
    return frozenset(found)
