"""The default embedder: a table of wordpiece vectors that ships with the package; needs numpy, no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from zipfile import BadZipFile

import numpy as np

from tiered_memory.embedders.wordpiece import WordPiece
from tiered_memory.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiered_memory.embedders.base import Vectors

_ID = "static128-v1"
_DIMENSIONS = 128
_loading = Lock()


class StaticEmbedder:
    """Embeds a text as the mean of its wordpieces' vectors, made unit length.

    Takes about 0.02 ms for a short text. English; blind to word order and almost to "not". Texts that bear
    on each other have a cosine of 0.15 to 0.65, restatements of one fact from about 0.75. A text without any
    known word gets one fixed vector, since the cosine of a zero vector is undefined.

    `table` names a file of one's own, as `scripts/train_static.py` makes it; `ConfigError` is raised when it
    can't be used. A table is loaded when it is first needed, once in a process.
    """

    def __init__(self, table: str | Path | None = None) -> None:
        self._file = None if table is None else Path(table)
        self._id = _ID if self._file is None else f"static:{_digest(self._file)}"

    def __repr__(self) -> str:
        return f"<StaticEmbedder {self.id}>"

    @property
    def id(self) -> str:
        """`static128-v1`, or `static:` and a digest of one's own table."""
        return self._id

    @property
    def dimensions(self) -> int:
        """The length of each vector: 128, or what one's own table has."""
        return _DIMENSIONS if self._file is None else self._table().rows.shape[1]

    @property
    def max_tokens(self) -> None:
        """None: a text of any length is read to its end."""
        return None

    @property
    def floor(self) -> float | None:
        """0.2, or None for one's own table."""
        return 0.2 if self._file is None else None

    def fit(self, text: str) -> str:
        """`text` itself."""
        return text

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 unit vector for each text, as an array of shape [len(texts), dimensions]."""
        rows, wordpiece = self._table()
        sums = np.zeros((len(texts), rows.shape[1]), np.float32)
        for at, text in enumerate(texts):
            sums[at] = _sum_of(rows, wordpiece.ids(text))
        return _unit(sums)

    def _table(self) -> _Table:
        with _loading:
            return _load(self._file)


class _Table(NamedTuple):
    rows: Vectors
    """float32, shape [pieces, dimensions]."""
    wordpiece: WordPiece
    """Splits a text into row numbers."""


def pieces(table: Path | None = None) -> list[str]:
    """The wordpieces of a table file, the shipped one by default, in the order of its rows.

    They are BERT's uncased vocabulary from `!` on: its ids are these rows + 999.
    """
    return _pieces(_read(table)["vocab"])


@cache
def _load(table: Path | None) -> _Table:
    arrays = _read(table)
    rows = arrays["table"].astype(np.float32) * arrays["scale"].astype(np.float32)[:, None]
    return _Table(rows, WordPiece({piece: row for row, piece in enumerate(_pieces(arrays["vocab"]))}))


def _read(table: Path | None) -> dict[str, NDArray[np.generic]]:
    source = table or files("tiered_memory.embedders") / "static128.npz"
    try:
        with source.open("rb") as file, np.load(file) as arrays:
            return {name: arrays[name] for name in ("table", "scale", "vocab")}
    except (OSError, EOFError, ValueError, KeyError, BadZipFile) as error:
        raise ConfigError(f"{source} is not a table of wordpiece vectors: {error}") from error


def _pieces(vocab: NDArray[np.generic]) -> list[str]:
    return vocab.tobytes().decode().split("\n")


def _digest(table: Path) -> str:
    try:
        return sha256(table.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ConfigError(f"{table} can't be read as a table of wordpiece vectors: {error}") from error


def _sum_of(rows: Vectors, ids: list[int]) -> Vectors:
    if len(ids) > len(rows):
        # counting keeps the memory bounded, however long the text
        return np.bincount(ids, minlength=len(rows)).astype(np.float32) @ rows
    total: Vectors = rows[ids].sum(axis=0)
    return total


def _unit(sums: Vectors) -> Vectors:
    """Each row made unit length; a zero row becomes the first axis."""
    sums[~sums.any(axis=1), 0] = 1
    units: Vectors = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return units
