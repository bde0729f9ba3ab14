"""Many who change one tree at the same time."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from embedders_for_tests import TableEmbedder
from redis import Redis
from tree_invariants import check_tree

from tiered_memory import memory
from tiered_memory.errors import KindConflict, NotFound
from tiered_memory.store import Document, Store

NAMES = ["a", "a/b", "a/b/c", "a/d", "e", "e/f", "a-b"]


@pytest.fixture
def store(redis_url, namespace):
    """A store that threads share."""
    with memory(redis_url, namespace=namespace, embedder=TableEmbedder(), mode="vector") as mem:
        yield Store(mem)


def change(store, seed):
    """A hundred random changes."""
    chance = random.Random(seed)
    for number in range(100):
        uris = [f"viking://{name}" for name in chance.sample(NAMES, 3)]
        with suppress(KindConflict, NotFound):
            match chance.randrange(6):
                case 0:
                    store.documents.remove(uris[0])
                case 1:
                    store.tags.set_enabled(uris[0], chance.random() < 0.5)
                case 2:
                    store.tags.set_group(uris[0], chance.choice(["", "g", "h"]))
                case 3:
                    store.documents.put_many([Document(uri, f"{seed}:{number}", jobs=[("embed", {})]) for uri in uris])
                case _:
                    store.documents.put(uris[0], f"{seed}:{number}", jobs=[("summarize_abstract", {})])
        job = store.jobs.claim(["summarize_abstract"])
        if job:
            store.layers.store(job.id, job.payload["uri"], "abstract", f"of {job.payload['content_hash']}")


class TestThreads:
    def test_at_rest(self, store, redis_url, namespace):
        """Whatever eight threads did at once, the tree agrees with itself, and each layer with its content."""
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda seed: change(store, seed), range(8)))
        with Redis.from_url(redis_url) as client:
            check_tree(client, namespace)
        rows = store.documents.list(filter={"include_disabled": True}).items
        for node in store.documents.get_many([row.uri for row in rows]):
            made_for = node.content_hash if "abstract" not in node.stale else None
            assert node.abstract is None or made_for is None or node.abstract == f"of {made_for}"

    def test_all_or_none(self, store):
        """Who reads while others write several documents at once sees all of one write."""
        uris = [f"viking://x/{name}" for name in "abcde"]
        store.documents.put_many([Document(uri, "start") for uri in uris])

        def write(seed):
            for number in range(30):
                store.documents.put_many([Document(uri, f"{seed}:{number}") for uri in uris])

        def read(_):
            return [len({node.content for node in store.documents.get_many(uris)}) for _ in range(60)]

        with ThreadPoolExecutor(6) as pool:
            writing = [pool.submit(write, seed) for seed in range(3)]
            seen = [number for numbers in pool.map(read, range(3)) for number in numbers]
            for each in writing:
                each.result()
        assert set(seen) == {1}
