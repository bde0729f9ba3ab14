"""Many at once: threads, tasks and processes that meet in one place, and calls that are cancelled."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from embedders_for_tests import TableEmbedder
from processes import run_together
from redis import Redis
from shorthand import TIERS, texts

from tiered_memory import MemoryItem, async_memory, memory


@pytest.fixture
async def amem(redis_url, namespace):
    """An async memory on the test's own event loop."""
    async with async_memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as handle:
        yield handle


class TestProcesses:
    def test_one_memory(self, redis_url, namespace):
        """Ten processes that remember the same text at once make one memory a tier, and ten uses of one procedure."""
        run_together("remember_the_same", 10, redis_url, namespace)
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem:
            assert [mem.count(tier) for tier in TIERS] == [1, 1, 1, 1]
            (procedure,) = mem.recall("q", tier="procedural", mode="vector")
        assert procedure.uses == 10
        assert procedure.score == pytest.approx(0.9727272727)

    def test_a_fresh_store(self, redis_url, namespace):
        """Sixteen processes may open the same fresh store at once: one index, and every memory is found."""
        run_together("remember_ten_of_its_own", 16, redis_url, namespace)
        with (
            memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem,
            Redis.from_url(redis_url) as client,
        ):
            assert len(mem.recall("q", k=500)) == mem.count() == 160
            indexes = client.execute_command("FT._LIST")
        assert sum(namespace.encode() in bytes(name) for name in indexes) == 1


class TestThreads:
    def test_one_handle(self, redis_url, namespace):
        """Fifty threads that share a handle make one memory of one text, and count each use."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem, ThreadPoolExecutor(50) as pool:
            outcomes = [
                each[0].outcome for each in pool.map(lambda _: mem.remember("exact", tier="procedural"), range(50))
            ]
            assert sorted(outcomes) == ["reaffirmed"] * 49 + ["recorded"]
            assert mem.recall("q")[0].uses == 50

    def test_scopes_are_not_mixed_up(self, redis_url, namespace):
        """Threads that interleave write each to the scope of its own handle."""

        def work(number: int) -> list[str]:
            scoped = mem.scoped(f"s{number}")
            for tier in TIERS:
                scoped.remember(f"text {number}", tier=tier)
            return texts(scoped.recall(f"text {number}"))

        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem, ThreadPoolExecutor(16) as pool:
            assert list(pool.map(work, range(80))) == [[f"text {number}"] * 4 for number in range(80)]

    def test_updates_are_merged(self, redis_url, namespace):
        """Updates of different names of one memory's metadata, made at once, are all there in the end."""
        with memory(redis_url, namespace=namespace, embedder=TableEmbedder()) as mem, ThreadPoolExecutor(4) as pool:
            for tier in TIERS:
                mem.remember("exact", tier=tier, id="x")
                list(pool.map(lambda n, tier=tier: mem.update("x", tier, metadata={str(n): n}), range(8)))
                assert mem.get("x", tier).metadata == {str(number): number for number in range(8)}


class TestTasks:
    async def test_one_fact(self, amem):
        """Fifty tasks that remember the same text at once make one memory, and count each use."""
        await asyncio.gather(
            *(amem.remember("exact", tier=tier) for _ in range(50) for tier in ("semantic", "procedural"))
        )
        assert [hit.uses for hit in await amem.recall("q")] == [50, 50]

    async def test_scopes_are_not_mixed_up(self, amem):
        """A hundred tasks, each with a handle of its own and pauses between, leave every row in its own scope."""

        async def work(number: int) -> list[str]:
            scoped = amem.scoped(f"s{number}")
            for tier in TIERS:
                await asyncio.sleep(random.random() / 50)
                await scoped.remember(f"text {number}", tier=tier)
            return texts(await scoped.recall(f"text {number}"))

        found = await asyncio.gather(*(work(number) for number in range(100)))
        assert found == [[f"text {number}"] * 4 for number in range(100)]
        for number in range(100):
            (memory,) = (await amem.scoped(f"s{number}").list("semantic")).items
            assert memory.scope == f"s{number}"

    async def test_the_loop_is_not_blocked(self, redis_url, namespace):
        """A blocking embedder doesn't hold up the event loop."""

        class Slow(TableEmbedder):
            def embed(self, texts):
                loop.call_soon_threadsafe(going_on.set)
                done.wait(5)
                return super().embed(texts)

        loop, going_on, done = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        async with async_memory(redis_url, namespace=namespace, embedder=Slow()) as amem:
            remembering = asyncio.create_task(amem.remember("exact"))
            await asyncio.wait_for(going_on.wait(), 5)
            assert not remembering.done()
            done.set()
            assert (await remembering)[0].outcome == "recorded"


class TestCancellation:
    async def test_all_or_nothing(self, amem):
        """A remember that is cancelled at any moment has written its whole batch or nothing of it."""
        await amem.remember("exact")
        for number in range(60):
            items = [MemoryItem(f"{number} {n}", tier, scope=f"s{number}") for n in range(10) for tier in TIERS]
            task = asyncio.create_task(amem.remember(items))
            await asyncio.sleep(number / 60 * 0.006)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await amem.scoped(f"s{number}").count() in (0, 40)

    async def test_the_handle_goes_on(self, amem):
        """After cancelled calls, a handle gives each call its own answer."""
        await amem.remember(["exact", "near"])
        for number in range(60):
            task = asyncio.create_task(amem.recall("q"))
            await asyncio.sleep(number / 60 * 0.004)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert await amem.count() == 2
            assert texts(await amem.recall("q")) == ["exact", "near"]

    async def test_in_the_embedder(self, redis_url, namespace):
        """Cancelled in the embedder, a remember writes nothing."""

        class Endless(TableEmbedder):
            async def aembed(self, texts):
                reached.set()
                await asyncio.sleep(60)

        reached = asyncio.Event()
        async with async_memory(redis_url, namespace=namespace, embedder=Endless()) as amem:
            task = asyncio.create_task(amem.remember([MemoryItem("note", "working"), MemoryItem("exact")]))
            await asyncio.wait_for(reached.wait(), 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await amem.count() == 0
