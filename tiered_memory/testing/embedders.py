"""The contract of an embedder, to run with pytest against one of your own."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from tiered_memory.embedders.base import Embedder

if TYPE_CHECKING:
    from tiered_memory.embedders.base import Vectors

TEXTS = (
    "Prefers metric units.",
    "Deployed version 2 on Friday; Anna said “well done”.",
    "",
    " \t\n",
    "a\0b",
    "\ufffd\u200b\x1b[0m",
    "Crème brûlée, naïve façade, e\u0301",
    "🎉 👩‍👩‍👧‍👦 🇫🇷",
    "安娜喜欢绿茶和徒步旅行",
    "קפה שחור, ללא סוכר",
)
"""Texts that an embedder must cope with: plain, empty, blank, with control characters, of many scripts."""

LONG_TEXTS = ("word " * 10_000, "安娜喜欢绿茶" * 2_000, "x" * 20_000)
"""Texts longer than most models read: words, a script without spaces, one endless word."""


class EmbedderContract(ABC):
    """What the package relies on in an embedder, one test for each promise of `Embedder`.

    class TestMyEmbedder(EmbedderContract):
        def embedder(self) -> Embedder:
            return MyEmbedder()
    """

    tolerance = 1e-5
    """How far two vectors of the same text may differ in any of their numbers."""

    @abstractmethod
    def embedder(self) -> Embedder:
        """The embedder to test; each test calls this, and a costly one may be the same each time."""

    def test_has_every_member_of_the_protocol(self) -> None:
        """An embedder has an id, dimensions, max_tokens, a floor, fit and embed."""
        assert isinstance(self.embedder(), Embedder)

    def test_id_is_stable(self) -> None:
        """The id is a text, and the same whenever the same embedder is made."""
        first, second = self.embedder().id, self.embedder().id
        assert isinstance(first, str)
        assert first.strip()
        assert first == second

    def test_figures_are_in_range(self) -> None:
        """Dimensions and max_tokens are at least 1, and a floor is a cosine."""
        embedder = self.embedder()
        assert embedder.dimensions >= 1
        assert embedder.max_tokens is None or embedder.max_tokens >= 1
        assert embedder.floor is None or -1 <= embedder.floor <= 1

    def test_one_float32_vector_for_each_text(self) -> None:
        """The answer is a float32 array of shape [texts, dimensions]."""
        embedder = self.embedder()
        vectors = embedder.embed(TEXTS)
        assert vectors.shape == (len(TEXTS), embedder.dimensions)
        assert vectors.dtype == np.float32

    def test_no_text_no_vector(self) -> None:
        """No texts give an array of shape [0, dimensions]."""
        embedder = self.embedder()
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    def test_vectors_can_be_compared(self) -> None:
        """Every vector is finite and not zero, whatever the text, so that a cosine is defined."""
        for texts in (TEXTS, LONG_TEXTS):
            for text, vector in zip(texts, self.embedder().embed(texts), strict=True):
                assert np.isfinite(vector).all(), f"not finite for {text[:20]!r}"
                assert np.linalg.norm(vector) > 0, f"zero for {text[:20]!r}"

    def test_a_batch_changes_nothing(self) -> None:
        """A text has the same vector alone and in any batch, at any place in it."""
        embedder = self.embedder()
        alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
        self._assert_same(embedder.embed(TEXTS), alone)
        self._assert_same(embedder.embed(TEXTS[::-1])[::-1], alone)

    def test_repeated_texts(self) -> None:
        """A text that occurs twice in a batch gets the same vector twice."""
        first, _, second = self.embedder().embed([TEXTS[0], TEXTS[1], TEXTS[0]])
        self._assert_same(first, second)

    def test_texts_are_told_apart(self) -> None:
        """Two sentences about different things have vectors of different directions."""
        first, second = self.embedder().embed(TEXTS[:2])
        assert _cosine(first, second) < 0.999

    def test_answers_belong_to_the_caller(self) -> None:
        """Changing an answer in place changes no later answer."""
        embedder = self.embedder()
        vectors = embedder.embed(TEXTS[:2])
        before = vectors.copy()
        vectors[:] = 0
        self._assert_same(embedder.embed(TEXTS[:2]), before)

    def test_fit_gives_a_prefix(self) -> None:
        """What fits is a prefix of the text, and fits as it is."""
        embedder = self.embedder()
        for text in TEXTS + LONG_TEXTS:
            fitting = embedder.fit(text)
            assert text.startswith(fitting)
            assert embedder.fit(fitting) == fitting

    def test_the_rest_is_not_read(self) -> None:
        """A text too long has the vector of the part that fits, and changes nothing for its neighbours."""
        embedder = self.embedder()
        vectors = embedder.embed([TEXTS[0], *LONG_TEXTS])
        fitting = [embedder.embed([embedder.fit(text)]) for text in (TEXTS[0], *LONG_TEXTS)]
        self._assert_same(vectors, np.concatenate(fitting))

    def test_threads(self) -> None:
        """Several threads may embed at the same time."""
        embedder = self.embedder()
        expected = embedder.embed(TEXTS[:4])
        with ThreadPoolExecutor(4) as pool:
            for vectors in pool.map(embedder.embed, [TEXTS[:4]] * 8):
                self._assert_same(vectors, expected)

    def test_async(self) -> None:
        """`aembed`, if there is one, answers as `embed` does."""
        embedder = self.embedder()
        aembed = getattr(embedder, "aembed", None)
        if aembed is not None:
            self._assert_same(asyncio.run(aembed(TEXTS)), embedder.embed(TEXTS))

    def _assert_same(self, vectors: Vectors, expected: Vectors) -> None:
        np.testing.assert_allclose(vectors, expected, rtol=0, atol=self.tolerance)


def _cosine(a: Vectors, b: Vectors) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
