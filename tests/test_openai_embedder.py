"""`OpenAIEmbedder`, against a real HTTP server that speaks the API."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence

import numpy as np
import openai
import pytest
from embedding_server import EmbeddingServer, vector_of

from tiered_memory.embedders import Embedder, OpenAIEmbedder
from tiered_memory.errors import ConfigError, EmbeddingError, EmbeddingRateLimited, MissingExtra
from tiered_memory.tokens import counter

KEY = "sk-not-to-be-seen"
SECRET = "The launch is on Friday."
Embed = Callable[[OpenAIEmbedder, Sequence[str]], Awaitable[np.ndarray]]


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as running:
        yield running


@pytest.fixture(params=["blocking", "async"])
async def embed(request: pytest.FixtureRequest) -> AsyncIterator[Embed]:
    used: list[OpenAIEmbedder] = []

    async def call(embedder: OpenAIEmbedder, texts: Sequence[str]) -> np.ndarray:
        used.append(embedder)
        return embedder.embed(texts) if request.param == "blocking" else await embedder.aembed(texts)

    yield call
    for embedder in used:
        await embedder.aclose()


def build(server: EmbeddingServer, model: str = "some-model", **settings: object) -> OpenAIEmbedder:
    settings = {"dimensions": server.dimensions, "base_url": server.url, "api_key": KEY} | settings
    return OpenAIEmbedder(model, **settings)


class TestConstruction:
    def test_nothing_is_imported_or_sent(self, server: EmbeddingServer) -> None:
        """Making an embedder imports no client and sends nothing."""
        code = (
            "import sys; from tiered_memory.embedders import OpenAIEmbedder;"
            f"OpenAIEmbedder(base_url={server.url!r}, api_key='k'); sys.exit('openai' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-I", "-c", code], check=False).returncode == 0
        assert server.requests == []

    def test_without_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without the client installed, the error names the extra."""
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(MissingExtra, match=r"tiered-memory\[openai\]"):
            OpenAIEmbedder()

    def test_is_an_embedder(self) -> None:
        """It fulfils the protocol."""
        assert isinstance(OpenAIEmbedder(), Embedder)

    @pytest.mark.parametrize(
        ("settings", "dimensions", "id_"),
        [
            ({}, 1536, "openai:text-embedding-3-small"),
            ({"dimensions": 512}, 512, "openai:text-embedding-3-small:512"),
            ({"dimensions": 1536}, 1536, "openai:text-embedding-3-small"),
            ({"model": "text-embedding-3-large"}, 3072, "openai:text-embedding-3-large"),
            ({"model": "text-embedding-ada-002"}, 1536, "openai:text-embedding-ada-002"),
            ({"model": "bge-m3", "dimensions": 1024}, 1024, "openai:bge-m3"),
            ({"model": "bge", "dimensions": 64, "send_dimensions": True}, 64, "openai:bge:64"),
            ({"id": "mine:2"}, 1536, "mine:2"),
        ],
    )
    def test_dimensions_and_id(self, settings: dict[str, object], dimensions: int, id_: str) -> None:
        """The id names the model, and the dimensions when they are not the model's own."""
        embedder = OpenAIEmbedder(**settings)
        assert (embedder.dimensions, embedder.id) == (dimensions, id_)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"model": "bge-m3"}, "pass dimensions="),
            ({"dimensions": 1537}, "1537"),
            ({"dimensions": 0}, "dimensions=0"),
            ({"model": "text-embedding-ada-002", "dimensions": 512}, "512"),
            ({"max_batch": 0}, "max_batch=0"),
            ({"max_batch_tokens": 0}, "max_batch_tokens=0"),
            ({"max_tokens": 0}, "max_tokens=0"),
            ({"max_retries": -1}, "max_retries=-1"),
            ({"timeout": 0}, "timeout=0"),
        ],
    )
    def test_settings_that_do_not_fit(self, settings: dict[str, object], message: str) -> None:
        """A setting out of its range is refused by name."""
        with pytest.raises(ConfigError, match=message):
            OpenAIEmbedder(**settings)

    def test_repr_keeps_the_secret(self) -> None:
        """The repr tells model and dimensions, and no key."""
        assert repr(OpenAIEmbedder(api_key=KEY)) == "OpenAIEmbedder('text-embedding-3-small', dimensions=1536)"


class TestRequest:
    async def test_vectors(self, server: EmbeddingServer, embed: Embed) -> None:
        """Each text gets its vector, as float32, from one request."""
        vectors = await embed(build(server), ["red", "blue", "red"])
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, [vector_of(text, 8) for text in ("red", "blue", "red")])
        assert [request.texts for request in server.requests] == [["red", "blue", "red"]]

    async def test_what_is_sent(self, server: EmbeddingServer, embed: Embed) -> None:
        """A request holds the model and the key, and doesn't ask a foreign model for dimensions."""
        await embed(build(server), ["red"])
        (request,) = server.requests
        assert request.path == "/v1/embeddings"
        assert request.headers["authorization"] == f"Bearer {KEY}"
        assert request.body == {"model": "some-model", "input": ["red"], "encoding_format": "float"}

    async def test_no_texts(self, server: EmbeddingServer, embed: Embed) -> None:
        """For no text nothing is sent."""
        assert (await embed(build(server), [])).shape == (0, 8)
        assert server.requests == []

    @pytest.mark.parametrize(
        "settings",
        [{"model": "text-embedding-3-small", "dimensions": 4}, {"dimensions": 4, "send_dimensions": True}],
    )
    async def test_shortened(self, server: EmbeddingServer, embed: Embed, settings: dict[str, object]) -> None:
        """Shortened vectors are asked for."""
        assert (await embed(build(server, **settings), ["red"])).shape == (1, 4)
        assert server.requests[0].body["dimensions"] == 4

    async def test_own_dimensions_are_not_sent(self, server: EmbeddingServer, embed: Embed) -> None:
        """A model's own dimensions need not be asked for."""
        server.dimensions = 1536
        await embed(build(server, "text-embedding-3-small"), ["red"])
        assert "dimensions" not in server.requests[0].body

    def test_openai_is_asked_for_base64(self, server: EmbeddingServer) -> None:
        """OpenAI itself is asked for base64, which is smaller."""
        through_server = openai.DefaultHttpxClient(proxy=server.address)
        with openai.OpenAI(api_key=KEY, base_url="http://api.openai.com/v1", http_client=through_server) as client:
            vectors = OpenAIEmbedder("some-model", dimensions=8, client=client).embed(["red"])
        assert server.requests[0].body["encoding_format"] == "base64"
        np.testing.assert_array_equal(vectors, [vector_of("red", 8)])


class TestBatches:
    async def test_bounded_by_count(self, server: EmbeddingServer, embed: Embed) -> None:
        """No request holds more than `max_batch` texts, and the vectors keep the order of the texts."""
        texts = [f"text {number}" for number in range(5)]
        vectors = await embed(build(server, max_batch=2), texts)
        assert [len(request.texts) for request in server.requests] == [2, 2, 1]
        np.testing.assert_array_equal(vectors, [vector_of(text, 8) for text in texts])

    async def test_bounded_by_tokens(self, server: EmbeddingServer, embed: Embed) -> None:
        """No request holds more than `max_batch_tokens` tokens, counted and not guessed from the length."""
        text = "internationalization " * 10
        tokens = counter("cl100k_base").count(text)
        assert tokens * 3 < len(text)
        await embed(build(server, max_batch_tokens=2 * tokens), [text] * 5)
        assert [len(request.texts) for request in server.requests] == [2, 2, 1]

    async def test_a_text_above_the_bound(self, server: EmbeddingServer, embed: Embed) -> None:
        """A text with more tokens than a request should hold goes alone."""
        await embed(build(server, max_batch_tokens=3), ["one", "two three four five six seven", "eight"])
        assert [len(request.texts) for request in server.requests] == [1, 1, 1]


class TestLongText:
    async def test_is_cut(self, server: EmbeddingServer, embed: Embed) -> None:
        """A text over `max_tokens` is cut to them, alone; its neighbours stay whole."""
        embedder = build(server, max_tokens=5)
        text = "one two three four five six seven"
        await embed(embedder, ["short", text])
        short, cut = server.requests[0].texts
        assert (short, cut) == ("short", embedder.fit(text))
        assert text.startswith(cut)
        assert 3 <= counter("cl100k_base").count(cut) <= 5

    def test_other_scripts(self) -> None:
        """Tokens are counted, not characters: CJK text has more of them than letters would suggest."""
        fitting = OpenAIEmbedder().fit("記憶" * 9000)
        count = counter("cl100k_base").count
        assert count(fitting) <= 8191 < count(fitting + "記憶")

    def test_no_limit(self) -> None:
        """Without a limit, nothing is cut."""
        assert OpenAIEmbedder(max_tokens=None).fit("word " * 9000) == "word " * 9000

    def test_special_tokens_are_text(self) -> None:
        """What looks like a special token is ordinary text."""
        assert OpenAIEmbedder(max_tokens=3).fit("<|endoftext|>" * 9).startswith("<|")


class TestReply:
    async def test_reordered(self, server: EmbeddingServer, embed: Embed) -> None:
        """Vectors in another order are put into the order of the texts, by their index."""
        server.change = lambda data: data.reverse()
        vectors = await embed(build(server), ["red", "green", "blue"])
        np.testing.assert_array_equal(vectors, [vector_of(text, 8) for text in ("red", "green", "blue")])

    async def test_left_out_index(self, server: EmbeddingServer, embed: Embed) -> None:
        """Where an index of 0 is left out, the place counts."""
        server.change = lambda data: data[0].pop("index") and None
        vectors = await embed(build(server), ["red", "green"])
        np.testing.assert_array_equal(vectors, [vector_of(text, 8) for text in ("red", "green")])

    async def test_base64(self, server: EmbeddingServer, embed: Embed) -> None:
        """Base64 is read even if it wasn't asked for."""
        server.encoding = "base64"
        np.testing.assert_array_equal(await embed(build(server), ["red"]), [vector_of("red", 8)])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda data: data.pop() and None, "1 vectors for 2 texts"),
            (lambda data: data[1].update(index=0), "can't be matched"),
            (lambda data: data[1].update(index=7), "can't be matched"),
            (lambda data: [item["embedding"].pop() for item in data] and None, "7 dimensions instead of 8"),
            (lambda data: data[0]["embedding"].pop() and None, "one length"),
            (lambda data: data[0]["embedding"].__setitem__(3, None), "finite"),
            (lambda data: data[0]["embedding"].__setitem__(3, float("nan")), "finite"),
            (lambda data: data[0]["embedding"].__setitem__(3, 1e39), "finite"),
            (lambda data: data[0]["embedding"].__setitem__(3, "x"), "one length"),
            (lambda data: data[0].update(embedding="AAA"), "list of embeddings"),
            (lambda data: {"object": "list"}, "list of embeddings"),
            (lambda data: ["neither"], "list of embeddings"),
        ],
    )
    async def test_unusable(
        self, server: EmbeddingServer, embed: Embed, change: Callable[[list], object], message: str
    ) -> None:
        """A reply with a wrong count, index, length or value is refused."""
        server.change = change
        with pytest.raises(EmbeddingError, match=message):
            await embed(build(server), ["red", "green"])

    @pytest.mark.parametrize("content_type", ["application/json", "text/html"])
    async def test_not_json(self, server: EmbeddingServer, embed: Embed, content_type: str) -> None:
        """A page instead of JSON is refused."""
        server.answer(b"<html>", content_type)
        with pytest.raises(EmbeddingError, match="list of embeddings"):
            await embed(build(server), ["red"])


class TestFailure:
    @pytest.mark.parametrize("status", [429, 500, 503])
    async def test_passing(self, server: EmbeddingServer, embed: Embed, status: int) -> None:
        """A rate limit or a fault that passes is retried, as soon as the server allows."""
        server.fail(status, times=2)
        np.testing.assert_array_equal(await embed(build(server), ["red"]), [vector_of("red", 8)])
        assert len(server.requests) == 3

    @pytest.mark.parametrize(
        ("status", "advice"),
        [
            (400, "model's name"),
            (401, "API key"),
            (403, "may not use"),
            (404, "base_url"),
            (413, "max_batch"),
            (415, "refuses"),
            (422, "dimensions"),
        ],
    )
    async def test_refused(self, server: EmbeddingServer, embed: Embed, status: int, advice: str) -> None:
        """A request that is wrong is not retried; the error names the status and what to do."""
        server.fail(status)
        with pytest.raises(EmbeddingError, match=f"status {status}; .*{advice}"):
            await embed(build(server), ["red"])
        assert len(server.requests) == 1

    async def test_lasting_rate_limit(self, server: EmbeddingServer, embed: Embed) -> None:
        """A rate limit that outlasts the retries is an error of its own."""
        server.fail(429, times=2)
        with pytest.raises(EmbeddingRateLimited, match="status 429; send less"):
            await embed(build(server, max_retries=1), ["red"])
        assert len(server.requests) == 2

    async def test_used_up_quota(self, server: EmbeddingServer, embed: Embed) -> None:
        """A quota that is used up is told from a rate limit that passes."""
        server.fail(429, code="insufficient_quota")
        with pytest.raises(EmbeddingRateLimited, match="billing"):
            await embed(build(server, max_retries=0), ["red"])

    async def test_lasting_fault(self, server: EmbeddingServer, embed: Embed) -> None:
        """A fault that outlasts the retries is an error that names the status."""
        server.fail(500, times=2)
        with pytest.raises(EmbeddingError, match="status 500; the provider has a fault"):
            await embed(build(server, max_retries=1), ["red"])

    async def test_slow(self, server: EmbeddingServer, embed: Embed) -> None:
        """A server that takes longer than `timeout` is given up."""
        server.delay = 5
        with pytest.raises(EmbeddingError, match="in time; raise timeout"):
            await embed(build(server, timeout=0.1, max_retries=0), ["red"])

    async def test_unreachable(self, server: EmbeddingServer, embed: Embed) -> None:
        """A server that isn't there is an error of ours."""
        with socket.socket() as unserved:
            unserved.bind(("127.0.0.1", 0))
            base_url = f"http://127.0.0.1:{unserved.getsockname()[1]}/v1"
            with pytest.raises(EmbeddingError, match="can't be reached"):
                await embed(build(server, base_url=base_url, max_retries=0), ["red"])

    @pytest.mark.parametrize("status", [400, 401, 429, 500])
    async def test_says_nothing_of_texts_and_keys(self, server: EmbeddingServer, embed: Embed, status: int) -> None:
        """Neither message nor traceback quote the texts or the key, even if the provider does."""
        server.fail(status)
        with pytest.raises(EmbeddingError) as caught:
            await embed(build(server, max_retries=0), [SECRET])
        shown = "".join(traceback.format_exception(caught.value))
        assert SECRET not in shown
        assert KEY not in shown

    async def test_no_key(self, server: EmbeddingServer, embed: Embed) -> None:
        """Without an API key, the first use says how to give one."""
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            await embed(build(server, api_key=None), ["red"])


class TestClients:
    async def test_given(self, server: EmbeddingServer) -> None:
        """A given client is used as it is, and stays open."""
        with openai.OpenAI(api_key="theirs", base_url=server.url) as client:
            embedder = OpenAIEmbedder("some-model", dimensions=8, client=client)
            embedder.embed(["red"])
            embedder.close()
            assert not client.is_closed()
        assert server.requests[0].headers["authorization"] == "Bearer theirs"

    async def test_given_async(self, server: EmbeddingServer) -> None:
        """So is a given async client."""
        async with openai.AsyncOpenAI(api_key="theirs", base_url=server.url) as client:
            embedder = OpenAIEmbedder("some-model", dimensions=8, async_client=client)
            await embedder.aembed(["red"])
            await embedder.aclose()
            assert not client.is_closed()
        assert server.requests[0].headers["authorization"] == "Bearer theirs"

    async def test_of_the_other_mode(self, server: EmbeddingServer) -> None:
        """A client for one mode doesn't serve the other: that would go to another address."""
        async with openai.AsyncOpenAI(api_key="k", base_url=server.url) as async_client:
            with pytest.raises(ConfigError, match="pass client="):
                build(server, async_client=async_client).embed(["red"])
        with (
            openai.OpenAI(api_key="k", base_url=server.url) as client,
            pytest.raises(ConfigError, match="async_client="),
        ):
            await build(server, client=client).aembed(["red"])

    def test_several_event_loops(self, server: EmbeddingServer) -> None:
        """One embedder serves several event loops, one after the other."""
        embedder = build(server)

        async def once() -> None:
            await embedder.aembed(["red"])
            await embedder.aembed(["blue"])
            await embedder.aclose()

        asyncio.run(once())
        asyncio.run(once())
        assert len(server.requests) == 4

    def test_after_closing(self, server: EmbeddingServer) -> None:
        """A closed embedder opens again when it is used."""
        embedder = build(server)
        for _ in range(2):
            embedder.embed(["red"])
            embedder.close()
        assert len(server.requests) == 2
