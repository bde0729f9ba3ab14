"""Extractors of entities: by patterns, by a language model over a real HTTP server, in a chain, and fixed."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import threading
from time import perf_counter

import openai
import pytest
from completion_server import CompletionServer
from hypothesis import given
from hypothesis import strategies as st

from tiered_memory.errors import ConfigError, MissingExtra
from tiered_memory.graph import (
    ChainExtractor,
    EntityExtractor,
    EntityRef,
    FixedExtractor,
    LLMExtractor,
    PatternExtractor,
)
from tiered_memory.graph.extract import aextract
from tiered_memory.graph.patterns import FINDS

TICKET = EntityRef("Ticket", "ticket-123")
ANA, ROME = EntityRef("person", "Ana"), EntityRef("place", "Rome")
SECRET = "The launch is on Friday."


def found(text, *find):
    """What is found, as texts."""
    return list(map(str, (PatternExtractor(find) if find else PatternExtractor()).extract(text)))


class TestPatterns:
    def test_tickets(self):
        """The single pattern finds identifiers of capitals, a hyphen and digits, and knows two prefixes."""
        assert found("See TICKET-123 and POL-7.", "ticket") == ["Ticket:ticket-123", "Policy:pol-7"]
        assert found("See TICKET-123 and POL-7.") == ["Ticket:ticket-123", "Policy:pol-7"]
        assert found("COVID-19", "ticket") == ["identifier:covid-19"]

    @pytest.mark.parametrize("text", ["ticket-12", "TICKET-12a", "X_TICKET-1", "2FA-1", "GPT-4o"])
    def test_no_tickets(self, text):
        """The single pattern needs capitals, and a word's boundary on both sides."""
        assert found(text, "ticket") == []

    @pytest.mark.parametrize(("text", "name"), [("ABC-12-34", "abc-12"), ("A1B2-33", "a1b2-33"), ("(T1-9)", "t1-9")])
    def test_odd_tickets(self, text, name):
        """The single pattern takes the beginning of a longer identifier, and digits after the first capital."""
        assert found(text, "ticket") == [f"identifier:{name}"]

    @pytest.mark.parametrize(
        ("text", "entity"),
        [
            ("we use GPT-4o now", "identifier:gpt-4o"),
            ("see RFC2119", "identifier:rfc2119"),
            ("in build_7", "identifier:build_7"),
            ("fixed by #42.", "identifier:#42"),
            ("write to Ana.Lee+x@mail.example.com, please", "email:ana.lee+x@mail.example.com"),
            ("at https://example.com/a?b=c#d.", "url:https://example.com/a?b=c#d"),
            ("(see http://example.com)", "url:http://example.com"),
            ("thanks @ana_lee!", "handle:ana_lee"),
            ("all about #launch", "tag:launch"),
            ("read “the hobbit” or “The Hobbit”", "title:the hobbit"),
            ('read "Dune"', "title:dune"),
            ("due 2026-03-01.", "date:2026-03-01"),
            ("due 2026-03-01T12:00Z sharp", "date:2026-03-01"),
            ("she met Ana Lee", "name:ana lee"),
            ("at the Bank of America", "name:bank of america"),
            ("by Renée de la Cruz", "name:renée de la cruz"),
            ("it was Ana's idea", "name:ana"),
            ("we love The Beatles", "name:beatles"),
            ("from NASA", "name:nasa"),
            ("Ana Lee came", "name:ana lee"),
        ],
    )
    def test_finds(self, text, entity):
        """What has a form of its own is found, and nothing else."""
        assert found(text) == [entity]

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "The cat sat. It slept! Did it? Yes",
            "at 10am on the 3rd, v2",
            "2026-13-01",
            "mail ana@host or @",
            "# heading",
            'he said "well, no."',
            "I know I'm late, I'd say",
            "on Monday in March",
            "- First\n- Second\n> Third",
            "WE ALL SHOUT VERY LOUD ALL DAY LONG HERE TODAY AGAIN",
        ],
    )
    def test_finds_nothing(self, text):
        """Ordinary words, openings of sentences, times, speech and shouting are no entities."""
        assert found(text) == []

    def test_openers(self):
        """A word alone at a sentence's start is found when that is asked for, unless it says nothing."""
        text = "Ana moved. The cat stayed. Rome is far"
        assert found(text, "opener") == ["name:ana", "name:rome"]
        assert found(text, "name", "opener") == ["name:ana", "name:rome"]

    def test_each_kind_alone(self):
        """Each kind can be looked for alone."""
        text = "GPT-4o TICKET-1 a@b.io https://x.io @ana #tag “The End” 2026-03-01 by Ana. Bob"
        for each in FINDS:
            kinds = {entity.partition(":")[0] for entity in found(text, each)}
            expected = {"opener": {"name"}, "ticket": {"Ticket"}, "identifier": {"Ticket", "identifier"}}
            assert kinds >= expected.get(each, {each}), each

    def test_nothing_twice(self):
        """What is found by one pattern isn't looked at by another."""
        assert found("see https://example.com/TICKET-1/Ana?d=2026-03-01") == [
            "url:https://example.com/ticket-1/ana?d=2026-03-01"
        ]

    def test_order(self):
        """Hints come first in their order, then what is found in the order of the text, each once."""
        text = "ask Ana about TICKET-123 and Rome, says Ana"
        assert list(map(str, PatternExtractor().extract(text, [ROME, TICKET]))) == [
            "place:rome",
            "Ticket:ticket-123",
            "name:ana",
            "name:rome",
        ]

    def test_most(self):
        """No more than `most` are found; hints aren't counted."""
        text = " ".join(f"TICKET-{number}" for number in range(200))
        assert len(PatternExtractor().extract(text)) == 100
        assert len(PatternExtractor(most=1).extract(text, [ANA, ROME])) == 3

    @given(st.text())
    def test_any_text(self, text):
        """Whatever the text, something that can be indexed is found, and the hints are there."""
        entities = PatternExtractor(FINDS).extract(text, [ANA])
        assert entities[0] == ANA
        assert len(set(entities)) == len(entities)

    @pytest.mark.parametrize(
        "part",
        ["a", "a.", "a@", "A-", "Aa ", "@a.", '"', '"A', "http://", "A of ", "A&", "A'", "\n", " ", "-", "1-", "x@y."],
    )
    def test_hostile_text(self, part):
        """The time grows with the length of the text, whatever is repeated in it."""

        def seconds(length):
            text = "Ana x@" + part * (length // len(part))
            start = perf_counter()
            PatternExtractor(FINDS).extract(text)
            return perf_counter() - start

        short, long = (min(seconds(length) for _ in range(3)) for length in (10_000, 80_000))
        assert long < 24 * short + 0.05, "eight times the text may take eight times as long, not sixty-four"

    @pytest.mark.parametrize("settings", [{"find": ["x"]}, {"find": "url"}, {"most": 0}])
    def test_bad_settings(self, settings):
        """A setting that doesn't fit is refused."""
        with pytest.raises(ConfigError):
            PatternExtractor(**settings)


@pytest.fixture
def server(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with CompletionServer() as running:
        yield running


@pytest.fixture(params=["blocking", "async"])
async def extract(request, server):
    """Calls an extractor of the server in a mode, and closes it."""
    made = []

    async def call(*arguments, **settings):
        made.append(LLMExtractor("m", **{"base_url": server.url, "api_key": "k", "max_retries": 0} | settings))
        if request.param == "blocking":
            return made[-1].extract(*arguments), made[-1].failures
        return await made[-1].aextract(*arguments), made[-1].failures

    yield call
    for each in made:
        await each.aclose()


class TestLanguageModel:
    async def test_finds(self, server, extract):
        """What the model says is found, after the hints."""
        server.says(("person", "Ana"), ("ticket", "TICKET-123"), ("place", "Rome"))
        assert await extract("text", [ROME]) == ([ROME, ANA, TICKET], {})

    async def test_request(self, server, extract):
        """The text goes in a message of its own, cut to its length; the answer is asked for by a schema."""
        await extract("text that is long", max_chars=4)
        (request,) = server.requests
        assert request.path == "/v1/chat/completions"
        assert request.body["messages"][1] == {"role": "user", "content": "text"}
        schema = request.body["response_format"]["json_schema"]
        assert schema["strict"] is True
        assert schema["schema"]["properties"]["entities"]["items"]["required"] == ["kind", "name"]

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("Here are the entities: Ana.", "not json"),
            ("[]", "schema"),
            ('{"entities": "Ana"}', "schema"),
            ('{"entities": [{"name": "Ana"}]}', "schema"),
            ("3", "schema"),
            (None, "schema"),
        ],
    )
    async def test_other_words(self, server, extract, content, reason):
        """Prose or another schema leaves the hints, and is counted."""
        server.content = content
        assert await extract("text", [ANA]) == ([ANA], {reason: 1})

    @pytest.mark.parametrize("body", [{}, {"choices": []}, {"choices": [{}]}, ["neither"], b"<html>", b"3"])
    async def test_no_completion(self, server, extract, body):
        """An answer that isn't one of the API leaves the hints, and is counted."""
        server.body = body
        found, failures = await extract("text", [ANA])
        assert (found, failures.total()) == ([ANA], 1)

    async def test_refusal(self, server, extract):
        """A refusal, by the model or by a filter, leaves the hints, and is counted."""
        server.refusal = "I won't."
        assert await extract("text", [ANA]) == ([ANA], {"refusal": 1})
        server.refusal, server.content, server.finish = None, None, "content_filter"
        assert await extract("text", [ANA]) == ([ANA], {"refusal": 1})

    async def test_unreachable(self, server, extract):
        """A server that isn't there leaves the hints, and is counted."""
        with socket.socket() as unserved:
            unserved.bind(("127.0.0.1", 0))
            nowhere = f"http://127.0.0.1:{unserved.getsockname()[1]}/v1"
            assert await extract("text", [ANA], base_url=nowhere) == ([ANA], {"APIConnectionError": 1})

    async def test_cut(self, server, extract):
        """An answer that was cut off leaves the hints, and is counted."""
        server.finish = "length"
        assert await extract("text", [ANA]) == ([ANA], {"cut": 1})

    async def test_too_late(self, server, extract):
        """A model that takes too long leaves the hints, and is counted."""
        server.delay = 5
        assert await extract("text", [ANA], timeout=0.05) == ([ANA], {"APITimeoutError": 1})

    @pytest.mark.parametrize(("status", "reason"), [(429, "RateLimitError"), (500, "InternalServerError")])
    async def test_refused(self, server, extract, caplog, status, reason):
        """A server that refuses leaves the hints, is counted, and is logged without the text."""
        server.status = status
        with caplog.at_level(logging.WARNING):
            assert await extract(SECRET, [ANA]) == ([ANA], {reason: 1})
        assert reason in caplog.text
        assert SECRET not in caplog.text

    async def test_unusable_names(self, server, extract):
        """A name or kind that can't be one is left out, the others stay."""
        server.says(("person", ""), ("a:b", "x"), (3, None), ("person", "Ana"))
        assert await extract("text") == ([ANA], {})

    async def test_most(self, server, extract):
        """No more than `most` are taken."""
        server.says(*(("x", str(number)) for number in range(9)))
        assert len((await extract("text", most=5))[0]) == 5

    def test_without_a_key(self, server):
        """A missing API key is an error of the configuration, which no hint hides."""
        with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
            LLMExtractor().extract("text", [ANA])

    def test_without_the_package(self, monkeypatch):
        """Without the client installed, the error names the extra."""
        real = sys.modules["importlib.util"].find_spec
        monkeypatch.setattr("tiered_memory.graph.llm.find_spec", lambda name: None if name == "openai" else real(name))
        with pytest.raises(MissingExtra, match=r"LLMExtractor.*tiered-memory\[openai\]"):
            LLMExtractor()

    def test_nothing_is_imported(self):
        """Importing and making an extractor imports no client."""
        code = (
            "import sys; from tiered_memory.graph import LLMExtractor;"
            "LLMExtractor(api_key='k'); sys.exit('openai' in sys.modules)"
        )
        assert subprocess.run([sys.executable, "-I", "-c", code], check=False).returncode == 0

    @pytest.mark.parametrize("settings", [{"timeout": 0}, {"max_retries": -1}, {"max_chars": 0}, {"most": 0}])
    def test_bad_settings(self, settings):
        """A setting out of its range is refused by name."""
        with pytest.raises(ConfigError, match=next(iter(settings))):
            LLMExtractor(**settings)

    async def test_own_clients(self, server):
        """A client of one's own is used as it is, and stays open."""
        server.says(("person", "Ana"))
        with openai.OpenAI(base_url=server.url, api_key="k") as client:
            extractor = LLMExtractor("m", client=client)
            assert extractor.extract("text") == [ANA]
            extractor.close()
            assert not client.is_closed()


class Failing:
    """An extractor that fails."""

    def extract(self, text, hints=()):
        raise RuntimeError("down")


@pytest.fixture(params=["blocking", "async"])
def chained(request):
    """Calls a chain in a mode."""

    async def call(*extractors, hints=(), **settings):
        chain = ChainExtractor(*extractors, **settings)
        return chain.extract("text", hints) if request.param == "blocking" else await aextract(chain, "text", hints)

    return call


class TestChain:
    async def test_all(self, chained):
        """All are asked, and what they find is put together after the hints, each once."""
        pair = FixedExtractor([ROME]), FixedExtractor([ANA, ROME])
        assert await chained(*pair, hints=[TICKET]) == [TICKET, ROME, ANA]
        assert await chained(hints=[TICKET, ROME, TICKET]) == [TICKET, ROME]

    async def test_fallback(self, chained):
        """As a fallback, the second is asked when the first finds nothing, and not when it finds something."""
        second = FixedExtractor([ANA])
        assert await chained(FixedExtractor(), second, fallback=True) == [ANA]
        assert await chained(FixedExtractor([ROME]), second, fallback=True) == [ROME]
        assert len(second.texts) == 1

    @pytest.mark.parametrize("fallback", [False, True])
    async def test_hints_do_not_count(self, chained, fallback):
        """Hints come first, and never keep the second from being asked."""
        second = FixedExtractor([ANA])
        assert await chained(FixedExtractor(), second, hints=[ROME], fallback=fallback) == [ROME, ANA]
        assert second.texts == ["text"]

    @pytest.mark.parametrize("fallback", [False, True])
    async def test_raises(self, chained, fallback):
        """What the first raises is raised."""
        with pytest.raises(RuntimeError, match="down"):
            await chained(Failing(), FixedExtractor([ANA]), fallback=fallback)

    async def test_async_members(self):
        """Without blocking, an extractor may be async, and one that blocks is kept off the event loop."""

        class Async:
            async def extract(self, text, hints=()):
                await asyncio.sleep(0)
                return [ANA]

        class InThread:
            def extract(self, text, hints=()):
                assert threading.current_thread() is not threading.main_thread()
                return [ROME]

        assert await ChainExtractor(Async(), InThread()).aextract("text", [TICKET]) == [TICKET, ANA, ROME]

    async def test_model_in_a_chain(self, server):
        """A language model that fails finds nothing, so that the next one is asked."""
        server.content = "prose"
        model = LLMExtractor("m", base_url=server.url, api_key="k")
        chain = ChainExtractor(model, FixedExtractor([ANA]), fallback=True)
        assert await chain.aextract("text", [ROME]) == [ROME, ANA]
        await model.aclose()

    def test_all_fulfil_the_contract(self):
        """Each extractor fulfils the protocol, and shows itself in one line without a secret."""
        for each in (PatternExtractor(), LLMExtractor(api_key="hunter2"), FixedExtractor([ANA])):
            assert isinstance(each, EntityExtractor)
            assert isinstance(ChainExtractor(each), EntityExtractor)
            assert "\n" not in repr(ChainExtractor(each))
            assert "hunter2" not in repr(each)
