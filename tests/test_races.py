"""Many processes on few memories, and a server that is killed amid their writes: what must hold, holds."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter

import pytest
from embedders_for_tests import TableEmbedder
from invariants import check_invariants
from racers import BOUND, URIS, race, start
from redis import Redis

from tiered_memory import memory
from tiered_memory.engine.embedded import EmbeddedRedis


class TestProcesses:
    @pytest.mark.parametrize("partitions", [1, 3])
    def test_anything(self, client, redis_url, namespace, partitions):
        """After two thousand random calls of eight processes on few ids, the store is whole."""
        settings = {"url": redis_url, "semantic": {"max_items": BOUND}, "partitions": partitions}
        said = race("anything", 8, 250, namespace, **settings)
        check_invariants(client, namespace)
        done = Counter(outcome for kind, *_, outcome in said if kind in ("active", "candidate"))
        assert {"recorded", "reaffirmed", "superseded", "queued"} <= done.keys()
        promoted = [number for kind, *numbers in said if kind == "promote" for number in numbers]
        assert len(promoted) == len(set(promoted)) > 50
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), partitions=partitions) as mem:
            assert max(mem.count("semantic"), mem.scoped("a").count("semantic")) <= BOUND
            mem.clear()
            assert mem.stats().scopes == 0
        assert sum(check_invariants(client, namespace).values()) == 0

    @pytest.mark.parametrize("partitions", [1, 3])
    def test_memories_in_the_tree(self, client, redis_url, namespace, partitions):
        """After two thousand random calls of eight processes on memories in the tree, each is shown as it stands."""
        settings = {"url": redis_url, "semantic": {"max_items": BOUND}, "partitions": partitions}
        said = race("tree", 8, 250, namespace, **settings)
        news = sum(outcome in ("recorded", "superseded", "queued") for _, _, outcome in said)
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), partitions=partitions) as mem:
            handles = [mem, mem.scoped("a")]
            assert sum(handle.store.jobs.count_kind("work") for handle in handles) <= news
            for handle in handles:
                handle.store.jobs.cancel("viking://")
            check_invariants(client, namespace)
            for handle in handles:
                self.check_reading(handle)
            mem.clear()
            assert mem.stats().scopes == 0
        assert sum(check_invariants(client, namespace).values()) == 0

    def check_reading(self, handle):
        """What the tree says of memories is what the tiers say."""
        told = {each.id: each for tier in ("semantic", "procedural") for each in handle.list(tier).items}
        recalled = handle.store.memories.recall()
        assert {each.id for each in recalled} == told.keys()
        for uri in URIS:
            node = handle.store.documents.get(uri)
            if uri in told:
                assert node.content == told[uri].text
            else:
                claims = [each for each in handle.review.pending().items if each.candidate.id == uri]
                newest = max(claims, key=lambda claim: claim.candidate.number, default=None)
                assert (node.content if node else None) == (newest.candidate.text if newest else None)
        counts = handle.store.memories.stats()
        assert (counts.by_status["active"], sum(counts.by_type.values())) == (len(told), len(told))

    def test_one_chain(self, client, redis_url, namespace):
        """Each acknowledged change of one id is a link of its history, and nothing else is."""
        said = race("chain", 8, 60, namespace, url=redis_url)
        held = check_invariants(client, namespace)
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
            history = mem.history("x", "semantic")
        believed = [text for kind, text, _ in said if kind in ("remember", "promoted")]
        assert sorted(each.text for each in history if each.status != "candidate") == sorted(believed)
        firsts = [kind for kind, _, result in said if (kind, result) in (("remember", "recorded"), ("promoted", False))]
        assert len(firsts) == 1
        claimed = {text for kind, text, _ in said if kind == "claim"}
        promoted = [text for kind, text, _ in said if kind == "promoted"]
        rejected = [text for kind, text, _ in said if kind == "rejected"]
        left = [each.text for each in history if each.status == "candidate"]
        assert len({*promoted, *rejected, *left}) == len(promoted) + len(rejected) + len(left)
        assert {*promoted, *rejected, *left} <= claimed
        assert (held["active"], held["superseded"]) == (1, len(believed) - 1)


class TestKilled:
    @pytest.mark.parametrize("work", ["own_ids", "anything"])
    def test_server(self, tmp_path, namespace, work):
        """A server that was killed amid writes has each acknowledged one, and the store is whole."""
        settings = {"data_dir": str(tmp_path), "retries": 0}
        with EmbeddedRedis.open(tmp_path) as hold, Redis(unix_socket_path=str(hold.socket)) as plain:
            pid = plain.info("server")["process_id"]
            racing = start(work, 4, 100_000, namespace, **settings)
            acknowledged = [racing.stdout.readline() for _ in range(200)]
            os.kill(pid, signal.SIGKILL)
            rest, errors = racing.communicate(timeout=60)
        assert "StoreUnavailable" in errors
        said = [json.loads(line) for line in (*acknowledged, *rest.splitlines())]
        with (
            EmbeddedRedis.open(tmp_path) as hold,
            Redis(unix_socket_path=str(hold.socket)) as plain,
            memory(namespace=namespace, embedder=TableEmbedder(), data_dir=tmp_path) as mem,
        ):
            assert plain.info("server")["process_id"] != pid
            mem.count()
            check_invariants(plain, namespace)
            if work == "own_ids":
                for (id_,) in said:
                    lived = [(each.text, each.status) for each in mem.history(id_, "semantic")]
                    assert lived == [("exact", "active"), ("near", "superseded"), ("far", "candidate")]
