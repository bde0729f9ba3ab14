"""The life of memories on the command line: review, history, conflicts, and forgetting."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from attrs import fields_dict
from command_line import CommandLine, of_its_own
from shorthand import texts

from tiered_memory import MemoryItem, memory
from tiered_memory.items import Assertion, Claim
from tiered_memory.lifecycle import Review


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """Nothing of this machine's own."""
    of_its_own(monkeypatch, tmp_path)


@pytest.fixture
def call(redis_url, namespace):
    """Calls a command on the worker's Redis, in the test's namespace."""
    return CommandLine(redis_url, namespace)


@pytest.fixture
def mem(redis_url, namespace):
    """A memory where the commands have theirs."""
    with memory(redis_url, namespace=namespace) as mem:
        yield mem


def claim(text, id, tier="semantic", source="extractor", **more):
    """A candidate."""
    return MemoryItem(text, tier, id=id, source=source, status="candidate", **more)


def words(result):
    """What was printed, in one line."""
    return " ".join(result.stdout.split())


def outcomes(answer):
    """The outcome at each id."""
    return {each["id"]: each["outcome"] for each in answer["reviewed"]}


def waiting(handle):
    """The ids at which something waits."""
    return [each.candidate.id for each in handle.review.pending().items]


@pytest.fixture
def queue(mem):
    """A fact with a claim against it, a second claim from elsewhere, and a how-to that waits."""
    mem.remember("Lives in Lyon.", id="home")
    mem.remember([claim("Lives in Paris.", "home"), claim("Eats no nuts.", "diet", source="guess")])
    mem.remember(claim("Run make ship.", "deploy", tier="procedural"))


class TestRemember:
    def test_a_claim(self, call, mem):
        """A candidate waits with its source, confidence and importance, and the answer says that it waits."""
        options = ("--status", "candidate", "--source", "guess", "--confidence", "0.3", "--importance", "0.8")
        assert (
            words(call("remember", "A claim.", "--id", "x", *options)) == "queued in semantic, id x; waits for review"
        )
        (found,) = mem.history("x", "semantic")
        assert (found.status, found.source, found.confidence, found.importance) == ("candidate", "guess", 0.3, 0.8)
        assert "already queued" in words(call("remember", "A claim.", "--id", "x", *options))

    @pytest.mark.parametrize(
        ("at", "expected"),
        [
            ("2026-03-01T12:00Z", datetime(2026, 3, 1, 12, tzinfo=timezone.utc)),
            ("2026-03-01T12:00:05.500+01:00", datetime(2026, 3, 1, 11, 0, 5, 500_000, timezone.utc)),
        ],
    )
    def test_when(self, call, mem, at, expected):
        """A time has its zone."""
        call("remember", "An event.", "--id", "x", "--at", at)
        assert mem.get("x", "semantic").at == expected

    def test_how_long_ago(self, call, mem):
        """An age is a time that long ago."""
        call("remember", "An event.", "--id", "x", "--at", "90d")
        age = datetime.now(timezone.utc) - mem.get("x", "semantic").at
        assert timedelta(days=90) <= age < timedelta(days=90, minutes=1)

    @pytest.mark.parametrize("at", ["2026-03-01T12:00", "d", "90", "999999999999d", "yesterday", ""])
    def test_no_time(self, call, at):
        """What is neither a time with its zone nor an age is wrong usage."""
        result = call("remember", "An event.", "--at", at)
        assert result.exit_code == 2
        assert "--at" in result.stderr


class TestRecall:
    @pytest.fixture
    def moved(self, mem):
        """The moment between two homes."""
        mem.remember("Lives in Lyon.", id="home", at=datetime(2026, 1, 1, tzinfo=timezone.utc))
        between = datetime.now(timezone.utc)
        mem.remember("Lives in Paris.", id="home")
        return between

    def test_as_of(self, call, moved):
        """What was believed at a time is recalled, and it is said that it is no longer."""
        past = ("recall", "Lives in Lyon.", "--as-of", moved.isoformat())
        assert texts_of(call.ask(*past)) == ["Lives in Lyon."]
        assert "now superseded" in words(call(*past))
        assert texts_of(call.ask("recall", "Lives in Lyon.", "--as-of", "1h")) == []

    def test_include_superseded(self, call, moved):
        """What was believed before is found only when asked for."""
        question = ("recall", "Lives in Lyon.", "--threshold", "0")
        assert texts_of(call.ask(*question)) == ["Lives in Paris."]
        assert texts_of(call.ask(*question, "--include-superseded")) == ["Lives in Lyon.", "Lives in Paris."]


def texts_of(answer):
    """The texts of hits."""
    return [each["text"] for each in answer["hits"]]


class TestGetAndList:
    def test_get(self, call, mem):
        """What stands at an id is shown, with all about it."""
        mem.scoped("a").remember("Lives in Lyon.", id="home", metadata={"ticket": 7})
        assert set(call.ask("get", "home", "--scope", "a")) == set(fields_dict(Assertion))
        assert "text Lives in Lyon. confidence 0.50" in words(call("get", "home", "--scope", "a"))
        assert '{"ticket": 7}' in words(call("get", "home", "--scope", "a"))

    def test_nothing_to_get(self, call):
        """Where nothing stands, that is a failure."""
        result = call("get", "home", "--json")
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "not_found")

    def test_list(self, call, mem):
        """A tier is listed part by part, without what waits."""
        mem.remember([MemoryItem(f"Fact {n}.", id=str(n)) for n in range(3)])
        mem.remember(claim("A claim.", "x"))
        first = call.ask("list", "--limit", "2")
        rest = call.ask("list", "--cursor", first["cursor"])
        assert [each["id"] for each in (*first["items"], *rest["items"])] == ["0", "1", "2"]
        assert rest["cursor"] is None

    def test_list_for_people(self, call, mem):
        """Each memory is shown with its id, and where to go on."""
        mem.remember(["Fact one.", "Fact two."], tier="working")
        shown = call("list", "--tier", "working", "--limit", "1").stdout
        assert "Fact one." in shown
        assert "more: --cursor" in shown
        assert call("list").stdout.strip() == "nothing found"


class TestHistory:
    def test_for_people(self, call, mem):
        """All that was and is claimed is shown, with its number, status, time and source."""
        mem.remember(MemoryItem("Lives in Lyon.", id="home", source="user"))
        mem.remember("Lives in Nice.", id="home")
        mem.remember(claim("Lives in Paris.", "home"))
        newest, oldest, waits = mem.history("home", "semantic")
        shown = words(call("history", "home"))
        assert f"#{newest.number} active Lives in Nice. since {newest.active_from:%Y-%m-%dT%H:%M:%S}Z" in shown
        assert f"#{oldest.number} superseded Lives in Lyon." in shown
        assert f"then #{newest.number}, from user" in shown
        assert f"#{waits.number} candidate Lives in Paris. claimed once, just now, from extractor" in shown

    def test_json(self, call, mem):
        """Each has the attributes of `Assertion`."""
        mem.remember("Lives in Lyon.", id="home")
        (found,) = call.ask("history", "home")["history"]
        assert set(found) == set(fields_dict(Assertion))
        assert call.ask("history", "home", "--scope", "a") == {"history": []}


class TestReviewList:
    def test_for_people(self, call, queue, mem):
        """Each claim is shown with what it would take the place of, how often it was claimed, and from where."""
        mem.remember(claim("Lives in Paris.", "home"))
        shown = words(call("review", "list"))
        assert "home Lives in Paris. instead of: Lives in Lyon. claimed 2 times, just now; from extractor" in shown
        assert "deploy Run make ship. nothing stands there" in shown

    def test_json(self, call, queue):
        """Each has the attributes of `Claim`."""
        found = call.ask("review", "list")["items"]
        assert [each["candidate"]["id"] for each in found] == ["home", "diet", "deploy"]
        assert set(found[0]) == set(fields_dict(Claim))
        assert found[0]["active"]["text"] == "Lives in Lyon."

    @pytest.mark.parametrize(
        ("options", "ids"),
        [
            (("--tier", "procedural"), ["deploy"]),
            (("--source", "guess"), ["diet"]),
            (("--scope", "a"), []),
        ],
    )
    def test_narrowed(self, call, queue, options, ids):
        """A tier, a source and a scope narrow it."""
        assert [each["candidate"]["id"] for each in call.ask("review", "list", *options)["items"]] == ids

    def test_pages(self, call, queue):
        """A cursor goes on where the last part ended."""
        first = call.ask("review", "list", "--limit", "2")
        rest = call.ask("review", "list", "--cursor", first["cursor"])
        assert [len(first["items"]), len(rest["items"])] == [2, 1]
        assert f"more: --cursor {first['cursor']}" in call("review", "list", "--limit", "2").stdout


class TestReviewShow:
    @pytest.mark.parametrize("columns", ["80", "120"])
    def test_side_by_side(self, call, mem, monkeypatch, columns):
        """What stands and what is claimed are next to each other, within the width of the terminal."""
        monkeypatch.setenv("COLUMNS", columns)
        mem.remember(MemoryItem("Lives in Lyon. " * 9, id="home", source="user", confidence=0.9))
        mem.remember(claim("Lives in Paris. " * 9, "home", confidence=0.4))
        lines = call("review", "show", "home").stdout.splitlines()
        assert any("Lives in Lyon." in line and "Lives in Paris." in line for line in lines)
        assert any(line.split() == ["confidence", "0.90", "0.40"] for line in lines)
        assert max(map(len, lines)) <= int(columns)

    def test_why(self, call, redis_url, namespace):
        """The reason why a claim waits, how often it was claimed, and the version that a decision can insist on."""
        with memory(redis_url, namespace=namespace, gate={"confidence_floor": 0.6}) as gated:
            for _ in range(3):
                gated.remember("Eats no nuts.", id="diet")
            (found,) = gated.review.pending().items
        shown = words(call("review", "show", "diet"))
        assert "Claimed 3 times, just now. Why it waits: confidence below 0.6." in shown
        assert "(nothing stands here) Eats no nuts." in shown
        assert f"--version {found.version}" in shown

    def test_the_rest(self, call, mem):
        """The newest claim is shown; below, what was superseded and what else waits, which a decision drops."""
        for text in ("Lives in Nice.", "Lives in Lyon."):
            mem.remember(text, id="home")
        for text in ("Lives in Paris.", "Lives in Rome."):
            mem.remember(claim(text, "home"))
        above, _, below = call("review", "show", "home").stdout.partition("Also at this id")
        assert "Lives in Rome." in above
        assert "1 older claim at this id will be dropped" in above
        assert "Lives in Nice." in below
        assert "Lives in Paris." in below
        answer = call.ask("review", "show", "home")
        assert set(answer) == {*fields_dict(Claim), "history"}
        assert len(answer["history"]) == 4

    def test_text_is_only_text(self, call, mem):
        """Nothing in a claim can steer the terminal."""
        mem.remember(claim("Metric [red]units[/red] \x1b[31m.", "x", metadata={"a": "\u202e\x9b"}))
        shown = call("review", "show", "x").stdout
        assert "Metric [red]units[/red] \ufffd[31m." in " ".join(shown.split())
        assert not {"\x1b", "\u202e", "\x9b"} & set(shown)

    def test_nothing_waits(self, call, mem):
        """Where nothing waits, that is a failure, whatever stands there."""
        mem.remember("Lives in Lyon.", id="home")
        result = call("review", "show", "home", "--json")
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "no_candidate")


class TestReviewOne:
    def test_promote(self, call, queue, mem):
        """What waits becomes active."""
        assert words(call("review", "promote", "home")) == "promoted in semantic, id home"
        assert mem.get("home", "semantic").text == "Lives in Paris."

    def test_reject(self, call, queue, mem):
        """What waits goes, and what stands stays."""
        assert call.ask("review", "reject", "home") == {
            "reviewed": [{"id": "home", "tier": "semantic", "outcome": "rejected"}]
        }
        assert texts(mem.history("home", "semantic")) == ["Lives in Lyon."]

    @pytest.mark.parametrize("verdict", ["promote", "reject"])
    def test_tier_and_scope(self, call, queue, mem, verdict):
        """The tier and the scope that are named are meant, and no other."""
        mem.scoped("a").remember(claim("Run make.", "deploy", tier="procedural"))
        assert call("review", verdict, "deploy", "--tier", "procedural", "--scope", "a").exit_code == 0
        assert (waiting(mem), waiting(mem.scoped("a"))) == (["home", "diet", "deploy"], [])

    @pytest.mark.parametrize("verdict", ["promote", "reject"])
    def test_a_version(self, call, queue, mem, verdict):
        """With a version only what was looked at is decided on."""
        version = call.ask("review", "show", "home")["version"]
        mem.remember(claim("Lives in Rome.", "home"))
        result = call("review", verdict, "home", "--version", version, "--json")
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "review_conflict")
        assert waiting(mem).count("home") == 2
        assert (
            call("review", verdict, "home", "--version", call.ask("review", "show", "home")["version"]).exit_code == 0
        )

    @pytest.mark.parametrize("verdict", ["promote", "reject"])
    def test_twice(self, call, queue, verdict):
        """Deciding again is a failure."""
        results = [call("review", verdict, "diet", "--json") for _ in range(2)]
        assert [each.exit_code for each in results] == [0, 1]
        assert json.loads(results[1].stderr)["error"]["code"] == "no_candidate"

    @pytest.mark.parametrize("verdict", ["promote", "reject"])
    @pytest.mark.parametrize(
        "options",
        [(), ("home", "--all"), ("home", "--source", "guess"), ("--all", "--version", "1/"), ("--source", "a")],
    )
    def test_says_what(self, call, queue, mem, verdict, options):
        """Without exactly one of an id and --all, nothing is decided."""
        assert call("review", verdict, *options).exit_code == 2
        assert len(waiting(mem)) == 3


class TestReviewMany:
    @pytest.mark.parametrize(("verdict", "outcome"), [("promote", "promoted"), ("reject", "rejected")])
    def test_all(self, call, queue, mem, verdict, outcome):
        """All that waits is decided on, with an outcome for each."""
        answer = call.ask("review", verdict, "--all")
        assert outcomes(answer) == dict.fromkeys(("home", "diet", "deploy"), outcome)
        assert waiting(mem) == []
        assert call.ask("review", verdict, "--all") == {"reviewed": []}

    def test_for_people(self, call, queue):
        """Each outcome is shown, and how many there were."""
        shown = words(call("review", "promote", "--all"))
        assert "promoted semantic home Lives in Paris." in shown
        assert shown.endswith("3 promoted")
        assert words(call("review", "promote", "--all")) == "nothing was decided"

    @pytest.mark.parametrize(
        ("options", "left"),
        [(("--tier", "semantic"), ["deploy"]), (("--source", "guess"), ["home", "deploy"])],
    )
    def test_narrowed(self, call, queue, mem, options, left):
        """A tier and a source narrow it."""
        assert call("review", "reject", "--all", *options).exit_code == 0
        assert waiting(mem) == left

    def test_the_newest_claim_counts(self, call, queue, mem):
        """A source is that of the newest claim at an id, so that no other's text is promoted by it."""
        mem.remember(claim("Lives in Rome.", "home", source="stranger"))
        assert set(outcomes(call.ask("review", "promote", "--all", "--source", "extractor"))) == {"deploy"}
        assert outcomes(call.ask("review", "promote", "--all", "--source", "stranger")) == {"home": "promoted"}
        assert mem.get("home", "semantic").text == "Lives in Rome."

    @pytest.mark.parametrize(("verdict", "outcome"), [("promote", "promoted"), ("reject", "rejected")])
    def test_a_conflict(self, call, queue, mem, monkeypatch, verdict, outcome):
        """What changed after it was listed is left as it is; the others are decided on, and the exit code is 1."""
        pending = Review.pending

        def pending_then_changed(review, *args, **kwargs):
            page = pending(review, *args, **kwargs)
            mem.remember(claim("Lives in Rome.", "home"))
            return page

        monkeypatch.setattr(Review, "pending", pending_then_changed)
        result = call("review", verdict, "--all", "--json")
        assert result.exit_code == 1
        assert outcomes(json.loads(result.stdout)) == {
            "home": "conflict",
            "diet": outcome,
            "deploy": outcome,
        }
        monkeypatch.undo()
        assert waiting(mem) == ["home", "home"]


class TestReviewWalk:
    def test_each_answer(self, call, queue, mem):
        """Each claim is shown, and promoted, rejected or skipped as is answered."""
        result = call("review", "walk", input="p\nreject\ns\n")
        assert result.exit_code == 0
        assert (mem.get("home", "semantic").text, mem.get("diet", "semantic")) == ("Lives in Paris.", None)
        assert waiting(mem) == ["deploy"]
        for shown in ("1 of 3", "Lives in Lyon.", "Lives in Paris.", "3 of 3", "1 promoted, 1 rejected"):
            assert shown in result.stdout

    @pytest.mark.parametrize("answers", ["q\np\n", "", "quit\n"])
    def test_quit(self, call, queue, mem, answers):
        """Quitting, or the end of the input, leaves the rest as it is."""
        result = call("review", "walk", input=answers)
        assert (result.exit_code, len(waiting(mem))) == (0, 3)
        assert "2 of 3" not in result.stdout

    def test_unknown_answer(self, call, queue, mem):
        """What isn't an answer is asked again, and an empty line decides nothing."""
        result = call("review", "walk", input="x\n\nyes\nP\nq\n")
        assert result.stdout.count("[p/r/s/q]") == 5
        assert waiting(mem) == ["diet", "deploy"]

    def test_json(self, call, queue):
        """With --json the questions go to standard error, and the answer has what became of each claim."""
        result = call("review", "walk", "--tier", "semantic", "--json", input="r\np\n")
        assert outcomes(json.loads(result.stdout)) == {"home": "rejected", "diet": "promoted"}
        assert "Lives in Paris." in result.stderr

    def test_a_conflict(self, call, queue, mem, monkeypatch):
        """What changed while it was looked at is left as it is, and the exit code is 1."""
        pending = Review.pending

        def pending_then_changed(review, *args, **kwargs):
            page = pending(review, *args, **kwargs)
            mem.remember("Lives in Rome.", id="home")
            return page

        monkeypatch.setattr(Review, "pending", pending_then_changed)
        result = call("review", "walk", input="p\np\nq\n")
        assert result.exit_code == 1
        assert "1 conflict, 1 promoted; a conflict changed meanwhile" in result.stdout
        assert mem.get("home", "semantic").text == "Lives in Rome."


class TestConflicts:
    @pytest.fixture
    def twins(self, mem):
        """Two facts that say the same, and another one."""
        mem.remember([MemoryItem("Prefers metric units.", id="b"), MemoryItem("Prefers metric units!", id="a")])
        mem.remember("Eats no nuts.", id="diet")

    def test_json(self, call, twins):
        """A pair has both memories, the lower id first, and their cosine."""
        (pair,) = call.ask("conflicts")["conflicts"]
        assert (pair["a"]["id"], pair["b"]["id"]) == ("a", "b")
        assert 0.9 <= pair["similarity"] <= 1

    def test_for_people(self, call, twins):
        """Both texts of a pair are shown, and how to end the conflict."""
        shown = words(call("conflicts"))
        assert "semantic a a Prefers metric units!" in shown
        assert "b b Prefers metric units." in shown
        assert "tiered-memory resolve" in shown
        assert words(call("conflicts", "--threshold", "1")) == "nothing found"

    def test_too_few(self, call):
        """Nothing to compare is a failure, and not an answer of none."""
        result = call("conflicts", "--json")
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, "embeddings_unavailable")

    @pytest.mark.parametrize(
        ("keep", "left"), [("a", ["a", "diet"]), ("b", ["b", "diet"]), ("both", ["a", "b", "diet"])]
    )
    def test_resolve(self, call, mem, twins, keep, left):
        """One of the two is kept, or both for good."""
        assert call("resolve", "a", "b", "--keep", keep).exit_code == 0
        assert sorted(each.id for each in mem.list("semantic").items) == left
        assert call.ask("conflicts") == {"conflicts": []}

    def test_in_the_order_given(self, call, mem, twins):
        """`a` is the id that is named first, and can be given what both say."""
        answer = call.ask("resolve", "b", "a", "--keep", "a", "--text", "Prefers metric units, always.")
        assert answer == {"tier": "semantic", "kept": ["b"]}
        assert (mem.get("b", "semantic").text, mem.get("a", "semantic")) == ("Prefers metric units, always.", None)

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            (("a", "nowhere", "--keep", "a"), "not_found"),
            (("a", "b", "--keep", "c"), "invalid_query"),
            (("a", "b", "--keep", "both", "--text", "x"), "invalid_query"),
        ],
    )
    def test_refused(self, call, mem, twins, arguments, code):
        """An id at which nothing stands, and an unknown choice, are refused, and nothing is changed."""
        result = call("resolve", *arguments, "--json")
        assert (result.exit_code, json.loads(result.stderr)["error"]["code"]) == (1, code)
        assert mem.count() == 3


class TestForget:
    @pytest.fixture(autouse=True)
    def facts(self, mem):
        """Facts that differ in source, time and metadata."""
        old = datetime(2020, 1, 1, tzinfo=timezone.utc)
        mem.remember(MemoryItem("Fact one.", id="one", source="import", metadata={"job": 7, "by": "x"}))
        mem.remember(MemoryItem("Fact two.", id="two", at=old))
        mem.remember(claim("A how-to.", "three", tier="procedural", source="import"))

    def left(self, mem):
        return {
            id
            for id, tier in (("one", "semantic"), ("two", "semantic"), ("three", "procedural"))
            if mem.recorded(id, tier)
        }

    def test_an_id(self, call, mem):
        """What stands at an id is forgotten, with its history, which isn't counted."""
        mem.remember("Fact one, reworded.", id="one")
        assert words(call("forget", "one")) == "forgot 1 memory"
        assert self.left(mem) == {"two", "three"}
        assert call.ask("forget", "one") == {"forgotten": 0}

    @pytest.mark.parametrize(
        ("rule", "gone"),
        [
            (("--source", "import"), {"one", "three"}),
            (("--source", "import", "--tier", "procedural"), {"three"}),
            (("--before", "2021-01-01T00:00Z"), {"two"}),
            (("--before", "365d"), {"two"}),
            (("--metadata", '{"job": 7}'), {"one"}),
            (("--metadata", '{"job": 7}', "--source", "user"), set()),
        ],
    )
    def test_a_rule(self, call, mem, rule, gone):
        """What matches all that is given is forgotten; a dry run only counts it."""
        assert call.ask("forget", *rule, "--dry-run") == {"matching_ids": len(gone)}
        assert self.left(mem) == {"one", "two", "three"}
        assert call.ask("forget", *rule) == {"forgotten": len(gone)}
        assert self.left(mem) == {"one", "two", "three"} - gone

    @pytest.mark.parametrize(
        "options", [(), ("--tier", "semantic"), ("one", "--source", "import"), ("one", "--dry-run")]
    )
    def test_says_what(self, call, mem, options):
        """Without exactly one of an id and a rule nothing is forgotten."""
        assert call("forget", *options).exit_code == 2
        assert len(self.left(mem)) == 3


class TestPrune:
    @pytest.fixture(autouse=True)
    def reworded(self, mem):
        """An id with a history of three."""
        for number in range(4):
            mem.remember(f"Version {number}.", id="x")

    @pytest.mark.parametrize(
        ("options", "pruned"),
        [
            (("--keep", "1"), 2),
            (("--keep", "0"), 3),
            (("--older-than", "1h"), 0),
            (("--older-than", "0s"), 3),
            (("--older-than", "0s", "--keep", "2"), 1),
            (("--keep", "0", "--tier", "procedural"), 0),
        ],
    )
    def test_history(self, call, mem, options, pruned):
        """The newest are kept, and so is what was superseded since; what is active stays."""
        assert call.ask("prune", *options) == {"pruned": pruned}
        assert (
            texts(mem.history("x", "semantic"))
            == ["Version 3.", "Version 2.", "Version 1.", "Version 0."][: 4 - pruned]
        )

    def test_says_which(self, call, mem):
        """Without a bound nothing is dropped."""
        assert call("prune").exit_code == 2
        assert len(mem.history("x", "semantic")) == 4


class TestErase:
    @pytest.fixture(autouse=True)
    def filled(self, mem):
        """Two scopes, and the unscoped pool, with memories of each kind."""
        for handle in (mem.scoped("a"), mem.scoped("b"), mem):
            handle.remember("Lives in Lyon.", id="home")
            handle.remember("Lives in Nice.", id="home")
            handle.remember(claim("Lives in Paris.", "home"))
            handle.remember("A note.", tier="working")

    def left(self, mem):
        return [handle.count() for handle in (mem.scoped("a"), mem.scoped("b"), mem)]

    @pytest.mark.parametrize(
        ("answer", "code", "left"), [("y\n", 0, [0, 2, 2]), ("n\n", 1, [2, 2, 2]), ("", 1, [2, 2, 2])]
    )
    def test_asks(self, call, mem, answer, code, left):
        """A scope is erased only after a yes; the question says how much is at stake."""
        result = call("erase", "a", input=answer)
        assert "Erase scope 'a' (2 active, 1 waiting, 1 superseded)?" in result.stderr
        assert (result.exit_code, self.left(mem)) == (code, left)

    def test_yes(self, call, mem):
        """With --yes nothing is asked, and no key of the scope is left."""
        assert call.ask("erase", "a", "--yes") == {"erased": 3}
        assert self.left(mem) == [0, 2, 2]
        assert "a" not in mem.scopes().items

    def test_unscoped(self, call, mem):
        """The unscoped pool is erased only by its option."""
        assert "the unscoped pool" in call("erase", "--unscoped", input="n\n").stderr
        assert "nothing of the scope is left" in words(call("erase", "--unscoped", "--yes"))
        assert self.left(mem) == [2, 2, 0]

    @pytest.mark.parametrize("options", [(), ("a", "--unscoped")])
    def test_says_what(self, call, mem, options):
        """Without exactly one of a scope and --unscoped nothing is erased."""
        assert call("erase", *options, "--yes").exit_code == 2
        assert self.left(mem) == [2, 2, 2]
