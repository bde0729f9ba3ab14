"""The embedder contract, run against the offline embedders and against some that break it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from tiered_memory.embedders import MiniLMEmbedder, StaticEmbedder
from tiered_memory.testing import EmbedderContract


@cache
def minilm():
    return MiniLMEmbedder(threads=1)


class TestStaticEmbedder(EmbedderContract):
    tolerance = 0.0

    def embedder(self):
        return StaticEmbedder()


class TestMiniLMEmbedder(EmbedderContract):
    def embedder(self):
        return minilm()


class Broken(StaticEmbedder):
    """An embedder whose answers a test bends."""

    def __init__(self, bend):
        super().__init__()
        self._bend = bend

    def embed(self, texts):
        return self._bend(super().embed(texts))


class TestTheContractItself:
    @pytest.mark.parametrize(
        ("promise", "bend"),
        [
            ("test_one_float32_vector_for_each_text", lambda vectors: vectors[:-1]),
            ("test_one_float32_vector_for_each_text", lambda vectors: vectors.astype(np.float64)),
            ("test_no_text_no_vector", lambda vectors: vectors.reshape(0, 1)),
            ("test_vectors_can_be_compared", np.zeros_like),
            ("test_vectors_can_be_compared", lambda vectors: vectors * np.float32("nan")),
            ("test_a_batch_changes_nothing", lambda vectors: vectors - vectors.mean(axis=0)),
            ("test_a_batch_changes_nothing", lambda vectors: vectors[::-1]),
            ("test_texts_are_told_apart", np.ones_like),
        ],
    )
    def test_refuses_an_embedder_that_breaks_a_promise(self, promise, bend):
        """Each promise fails for an embedder that breaks it."""

        class Contract(EmbedderContract):
            def embedder(self):
                return Broken(bend)

        with pytest.raises(AssertionError):
            getattr(Contract(), promise)()

    def test_refuses_answers_that_are_shared(self):
        """An embedder that hands out its own memory is refused."""
        kept = StaticEmbedder().embed(["a", "b"])

        class Contract(EmbedderContract):
            def embedder(self):
                return Broken(lambda vectors: kept)

        with pytest.raises(AssertionError):
            Contract().test_answers_belong_to_the_caller()
