"""How a worker's plans go on side by side: in threads, or as tasks on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from threading import Thread
from typing import Any

from tiered_memory.operation import AsyncRunner, Runner
from tiered_memory.plan import Plan
from tiered_memory.store.work_events import WorkReport
from tiered_memory.store.worker import Worker

_BLINK = 0.05
"""How often it is looked whether all is over, in seconds."""


class _Hand:
    """A thread that runs one plan. It doesn't keep the process alive, since what blocks in it can't be interrupted."""

    def __init__(self, runner: Runner, plan: Plan[None]) -> None:
        self.error: BaseException | None = None
        self._thread = Thread(target=self._run, args=(runner, plan), name="tiered-memory-worker", daemon=True)
        self._thread.start()

    def works(self) -> bool:
        """Whether the plan goes on; waits a little for its end."""
        self._thread.join(_BLINK)
        return self._thread.is_alive()

    def _run(self, runner: Runner, plan: Plan[None]) -> None:
        try:
            runner.run(plan)
        except BaseException as error:
            self.error = error


def work_in_threads(worker: Worker, runner: Runner) -> WorkReport:
    """Has a worker's plans run in threads until it stops; an interrupt of this thread stops it, too."""
    keeper = _Hand(runner, worker.keep())
    hands = [_Hand(runner, worker.serve()) for _ in range(worker.settings.concurrency)]
    try:
        while not worker.stopping and any(hand.works() for hand in hands):
            if any(hand.error for hand in hands):
                worker.stop()
    finally:
        worker.stop()
        _wait(lambda: any(hand.works() for hand in hands), worker.settings.grace)
        worker.end()
        runner.run(worker.give_back())
        _wait(keeper.works, 1)
    for hand in hands:
        if hand.error:
            raise hand.error
    return worker.reporter.report


async def work_in_tasks(worker: Worker, runner: AsyncRunner) -> WorkReport:
    """Has a worker's plans run as tasks until it stops; when this is cancelled, what runs is given back at once."""
    keeper = asyncio.ensure_future(runner.run(worker.keep()))
    hands = [asyncio.ensure_future(runner.run(worker.serve())) for _ in range(worker.settings.concurrency)]
    try:
        working = set(hands)
        while working and not worker.stopping:
            done, working = await asyncio.wait(working, timeout=_BLINK)
            if any(hand.exception() for hand in done):
                worker.stop()
        if working:
            await asyncio.wait(working, timeout=worker.settings.grace)
    finally:
        worker.end()
        for hand in (*hands, keeper):
            hand.cancel()
        ended = await asyncio.gather(*hands, keeper, return_exceptions=True)
        await runner.run(worker.give_back())
    for outcome in ended:
        if isinstance(outcome, Exception):
            raise outcome
    return worker.reporter.report


def _wait(goes_on: Callable[[], bool], seconds: float) -> None:
    """Waits until something is over, for so many seconds at the most."""
    left = seconds
    while left > 0 and goes_on():
        left -= _BLINK


def working(worker: Worker, runner: Any) -> Callable[[], WorkReport | Coroutine[Any, Any, WorkReport]]:
    """What does all the work of a worker, in the mode of its runner."""
    if runner.asynchronous:
        return lambda: work_in_tasks(worker, runner)
    return lambda: work_in_threads(worker, runner)
