"""BERT's uncased tokenization: a text becomes the ids of its wordpieces."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

_LONGEST_WORD = 100
_CACHED_WORDS = 1 << 16
_ASCII_SYMBOLS = frozenset("$+<=>^`|~")
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Splits text into words and each word, greedily, into the longest pieces of a vocabulary.

    `vocabulary` maps a piece to its id; pieces that continue a word start with `##`. A word that can't be
    put together from the vocabulary, or has more than 100 characters, becomes `unknown`.
    """

    def __init__(self, vocabulary: Mapping[str, int], unknown: tuple[int, ...] = ()) -> None:
        self._vocabulary = vocabulary
        self._unknown = unknown
        self._longest_piece = max(map(len, vocabulary))
        self._word_ids = lru_cache(_CACHED_WORDS)(self._split)

    def ids(self, text: str) -> list[int]:
        """The ids of the pieces of `text`, in order, without any special token."""
        return [piece for word in words(text) for piece in self._word_ids(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return self._unknown
        ids = []
        start = 0
        while start < len(word):
            start, piece = self._longest_at(word, start)
            if piece is None:
                return self._unknown
            ids.append(piece)
        return tuple(ids)

    def _longest_at(self, word: str, start: int) -> tuple[int, int | None]:
        """Where the longest known piece that begins at `start` ends, and its id."""
        prefix = "##" if start else ""
        for end in range(min(len(word), start + self._longest_piece), start, -1):
            piece = self._vocabulary.get(prefix + word[start:end])
            if piece is not None:
                return end, piece
        return start, None


def words(text: str) -> list[str]:
    """The words of `text`, in lower case, without accents; each punctuation mark or CJK sign is a word."""
    return unicodedata.normalize("NFD", text).translate(_normalized).split()


class _Normalized(dict[int, str]):
    """What stands for each code point, worked out when it is first met (`str.translate` asks by item)."""

    def __missing__(self, code: int) -> str:
        self[code] = normal = _normal(chr(code))
        return normal


def _normal(char: str) -> str:
    category = unicodedata.category(char)
    if char in "\t\n\r":
        return " "
    if char == "\ufffd" or category in {"Cc", "Cf", "Co", "Cs", "Mn"}:
        return ""
    if char.isspace():
        return " "
    if category.startswith("P") or char in _ASCII_SYMBOLS or _is_cjk(ord(char)):
        return f" {char} "
    return char.lower()


def _is_cjk(code: int) -> bool:
    return any(first <= code <= last for first, last in _CJK)


_normalized = _Normalized()
