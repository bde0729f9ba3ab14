"""How a contender of the speed benchmark is spoken to: commands as JSON lines in, answers as JSON lines out.

    python CONTENDER.py WORKLOAD.npz URL NAME

    ["batch", [[0, 100], [1, 101]]]    adds these memories, each list of one scope by one call
    ["add", [2, 3]]                    adds these memories one by one
    ["recall", [0, 1]]                 asks these questions one by one, for ten memories of their scopes
    ["warm", [0, 1]]                   the same, which doesn't count

The first line out is about the contender. Each command is answered by the seconds that each call took, and a
recall by the numbers of the memories that were found as well. What a contender keeps in Redis has NAME in the
names of its keys and indexes. This module runs in the contenders' environments, where numpy is all that there is.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from inspect import isawaitable
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

K = 10
"""How many memories a recall is for."""


class Workload:
    """Memories and questions with their vectors, spread over scopes; question n is about memory n."""

    def __init__(self, memories: Any, questions: Any, scopes: int) -> None:
        self.vectors = memories
        self.question_vectors = questions
        self.scopes = scopes
        self.texts = [f"memory {n:06d} of something that happened once to someone" for n in range(len(memories))]
        self.questions = [f"what happened in case {n:06d}?" for n in range(len(questions))]
        self.numbers = {text: number for number, text in enumerate(self.texts)}
        self._embeddings = dict(zip([*self.texts, *self.questions], [*memories, *questions], strict=True))

    @classmethod
    def drawn(cls, memories: int, questions: int, scopes: int, dimensions: int) -> Workload:
        """The same one each time."""
        random = np.random.default_rng(0)
        vectors = random.standard_normal((memories, dimensions), np.float32)
        noise = random.standard_normal((questions, dimensions), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        near = vectors[:questions] + 0.02 * noise
        return cls(vectors, near / np.linalg.norm(near, axis=1, keepdims=True), scopes)

    def save(self, file: Path) -> None:
        np.savez(file, memories=self.vectors, questions=self.question_vectors, scopes=self.scopes)

    @classmethod
    def load(cls, file: str) -> Workload:
        with np.load(file) as kept:
            return cls(kept["memories"], kept["questions"], int(kept["scopes"]))

    @property
    def dimensions(self) -> int:
        return int(self.vectors.shape[1])

    def scope(self, number: int) -> str:
        """The scope of the memory, or of the question, that has this number."""
        return f"user{number % self.scopes}"

    def embed(self, text: str) -> Any:
        """The vector of a memory or a question, of type float32; for other texts, by which some probe, any one."""
        return self._embeddings.get(text, self.vectors[0])


class Contender:
    """What is measured; a method that answers with an awaitable is awaited.

    Attributes:
        packages: Those whose versions matter.
        on_redis: Whether it keeps its memories in Redis.
        batches: Whether it has a call that adds several memories.
    """

    packages: ClassVar[tuple[str, ...]]
    on_redis: ClassVar[bool] = True
    batches: ClassVar[bool] = True

    def __init__(self, workload: Workload, url: str, name: str) -> None:
        self.workload, self.url, self.name = workload, url, name

    def open(self) -> Any:
        """Does what an index needs before the first memory."""

    def add(self, text: str, scope: str) -> Any:
        raise NotImplementedError

    def add_many(self, texts: Sequence[str], scope: str) -> Any:
        raise NotImplementedError

    def recall(self, question: str, scope: str) -> Any:
        """Answers with anything; `texts` makes what was found of it, outside the timing."""
        raise NotImplementedError

    def texts(self, answer: Any) -> list[str]:
        raise NotImplementedError


def serve(make: Callable[[Workload, str, str], Contender]) -> None:
    """Answers the commands on standard input until it ends; what else is printed goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    file, url, name = sys.argv[1:]
    asyncio.run(_serve(make(Workload.load(file), url, name), answers))


async def _serve(contender: Contender, answers: Any) -> None:
    await _awaited(contender.open())
    versions = ", ".join(f"{package} {version(package)}" for package in contender.packages)
    about = {"versions": versions, "on redis": contender.on_redis, "batches": contender.batches}
    answers.write(json.dumps(about) + "\n")
    for line in sys.stdin:
        verb, numbers = json.loads(line)
        answers.write(json.dumps(await _timed(contender, verb, numbers)) + "\n")


async def _timed(contender: Contender, verb: str, numbers: list[Any]) -> dict[str, Any]:
    call = {"batch": contender.add_many, "add": contender.add}.get(verb, contender.recall)
    seconds, found = [], []
    for number in numbers:
        given, scope = _given(contender.workload, verb, number)
        start = perf_counter()
        answer = call(given, scope)
        if isawaitable(answer):
            answer = await answer
        seconds.append(perf_counter() - start)
        if verb == "recall":
            found.append([contender.workload.numbers.get(text, -1) for text in contender.texts(answer)])
    return {"seconds": seconds, "found": found}


def _given(workload: Workload, verb: str, number: Any) -> tuple[Any, str]:
    """What a call is given, and in which scope."""
    if verb == "batch":
        return [workload.texts[each] for each in number], workload.scope(number[0])
    return (workload.texts if verb == "add" else workload.questions)[number], workload.scope(number)


async def _awaited(answer: Any) -> Any:
    return await answer if isawaitable(answer) else answer
