"""`RedisVLEmbedder`, around redisvl's own vectorizers."""

from __future__ import annotations

import asyncio
import logging
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
import pytest
from embedding_server import EmbeddingServer, vector_of
from redisvl.utils.vectorize import CustomVectorizer, OpenAITextVectorizer

from tiered_memory.embedders import Embedder, RedisVLEmbedder
from tiered_memory.errors import ConfigError, EmbedderUnavailable, EmbeddingError
from tiered_memory.tokens import counter

SECRET = "The launch is on Friday."
Embed = Callable[[RedisVLEmbedder, Sequence[str]], Awaitable[np.ndarray]]


@pytest.fixture(params=["blocking", "async"])
def embed(request: pytest.FixtureRequest) -> Embed:
    async def call(embedder: RedisVLEmbedder, texts: Sequence[str]) -> np.ndarray:
        return embedder.embed(texts) if request.param == "blocking" else await embedder.aembed(texts)

    return call


def numbers(text: str) -> list[float]:
    return vector_of(text, 6).tolist()


def build(vectorizer: object | None = None, **settings: object) -> RedisVLEmbedder:
    return RedisVLEmbedder(vectorizer or CustomVectorizer(numbers), **({"id": "mine:1"} | settings))


class TestConstruction:
    def test_is_an_embedder(self) -> None:
        """It fulfils the protocol, with the vectorizer's dimensions."""
        embedder = build(floor=0.3)
        assert isinstance(embedder, Embedder)
        assert (embedder.id, embedder.dimensions, embedder.floor) == ("mine:1", 6, 0.3)
        assert repr(embedder) == "RedisVLEmbedder(CustomVectorizer, id='mine:1', dimensions=6)"

    def test_a_function_needs_an_id(self) -> None:
        """Two functions would look the same, so a vectorizer around one isn't accepted without an id."""
        with pytest.raises(ConfigError, match="pass id="):
            RedisVLEmbedder(CustomVectorizer(numbers))

    def test_unknown_dimensions(self) -> None:
        """A vectorizer that doesn't know its dimensions is refused."""
        vectorizer = CustomVectorizer(numbers)
        vectorizer.dims = None
        with pytest.raises(ConfigError, match="dimensions"):
            build(vectorizer)


class TestEmbedding:
    async def test_vectors(self, embed: Embed) -> None:
        """Each text gets its vector, as float32."""
        vectors = await embed(build(), ["red", "blue", "red"])
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, [vector_of(text, 6) for text in ("red", "blue", "red")])

    async def test_no_texts(self, embed: Embed) -> None:
        """For no text there is no vector."""
        assert (await embed(build(), [])).shape == (0, 6)

    async def test_long_text(self, embed: Embed) -> None:
        """A text over `max_tokens` is cut before it reaches the vectorizer."""
        seen: list[str] = []
        embedder = build(CustomVectorizer(lambda text: seen.append(text) or numbers(text)), max_tokens=3)
        await embed(embedder, ["one two three four five six"])
        assert seen[-1] == embedder.fit("one two three four five six")
        assert counter().count(seen[-1]) <= 3

    def test_no_limit(self) -> None:
        """Without a limit, nothing is cut."""
        assert build().fit("word " * 9000) == "word " * 9000

    async def test_other_vectorizers(self, embed: Embed) -> None:
        """The id of a model's vectorizer is its class and model; the batch size is handed on."""
        with EmbeddingServer() as server:
            vectorizer = OpenAITextVectorizer("bge-m3", {"api_key": "k", "base_url": server.url})
            embedder = RedisVLEmbedder(vectorizer, batch_size=2)
            vectors = await embed(embedder, ["red", "green", "blue"])
            vectorizer._client.close()
            await vectorizer._aclient.close()
        assert embedder.id == "redisvl:OpenAITextVectorizer:bge-m3"
        assert [len(request.texts) for request in server.requests[1:]] == [2, 1]
        np.testing.assert_array_equal(vectors, [vector_of(text, 8) for text in ("red", "green", "blue")])


class TestAsync:
    async def test_a_blocking_vectorizer_runs_in_a_thread(self, caplog: pytest.LogCaptureFixture) -> None:
        """A vectorizer that would block the event loop runs beside it, without a warning."""
        threads: list[int] = []

        def note(text: str) -> list[float]:
            threads.append(threading.get_ident())
            return numbers(text)

        with caplog.at_level(logging.WARNING):
            await build(CustomVectorizer(note)).aembed(["red"])
        assert threads[-1] != threading.get_ident()
        assert caplog.records == []

    async def test_an_async_vectorizer_is_awaited(self) -> None:
        """A vectorizer that can be awaited is awaited, in the same thread."""
        loops: list[asyncio.AbstractEventLoop] = []

        async def many(texts: list[str]) -> list[list[float]]:
            loops.append(asyncio.get_running_loop())
            return [numbers(text) for text in texts]

        vectors = await build(CustomVectorizer(numbers, aembed_many=many)).aembed(["red", "blue"])
        assert loops == [asyncio.get_running_loop()]
        np.testing.assert_array_equal(vectors, [vector_of(text, 6) for text in ("red", "blue")])


class TestFailure:
    async def test_is_ours_and_says_nothing_of_the_text(self, embed: Embed) -> None:
        """What a vectorizer raises becomes our error, which names the class of the error, not the text."""

        def picky(text: str) -> list[float]:
            if text == SECRET:
                raise RuntimeError(f"can't embed {text}")
            return numbers(text)

        with pytest.raises(EmbeddingError, match="mine:1: CustomVectorizer failed with ValueError") as caught:
            await embed(build(CustomVectorizer(picky)), [SECRET])
        assert SECRET not in "".join(traceback.format_exception(caught.value))

    async def test_out_of_reach(self, embed: Embed) -> None:
        """A fault of the network below the vectorizer's own error says that the embedder is unavailable."""

        def unreachable(text: str) -> list[float]:
            if text == "red":
                raise ConnectionError("no route")
            return numbers(text)

        with pytest.raises(EmbedderUnavailable, match="failed with ValueError"):
            await embed(build(CustomVectorizer(unreachable)), ["red"])

    @pytest.mark.parametrize(
        ("answer", "message"),
        [
            ([[0.5] * 6], "one length"),
            ([[0.5] * 5] * 2, "5 dimensions instead of 6"),
            ([[0.5] * 6, [0.5] * 5], "one length"),
            ([[0.5] * 6, [float("inf")] * 6], "finite"),
        ],
    )
    async def test_unusable(self, embed: Embed, answer: list[list[float]], message: str) -> None:
        """An answer with a wrong count, length or value is refused."""
        vectorizer = CustomVectorizer(numbers, embed_many=lambda texts: answer)
        with pytest.raises(EmbeddingError, match=message):
            await embed(build(vectorizer), ["red", "green"])
