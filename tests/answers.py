"""Answers to the searches of a tier without a server: the same rows as RESP2 or RESP3 would bring them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from attrs import define

from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.plan import Commands, Embed, Embedding, Open

KEYSPACE = Keyspace("ns", 1, vector_field("table"))


@define
class Row:
    """A record as the index sees it; a ghost has expired a moment ago, and comes without its fields."""

    id: str
    vector: Sequence[float]
    token: str
    at: int = 0
    uses: int = 1
    expires_at: int = 0
    scope: str | None = None
    ghost: bool = False

    def fields(self) -> dict[bytes, bytes]:
        """What its hash holds."""
        values: dict[str, Any] = {
            "id": self.id, "text": f"text {self.id}", "at": self.at, "created_at": 0, "updated_at": 0,
            "uses": self.uses, "confidence": 0.5, "importance": 0.5, "metadata": "{}",
        }  # fmt: skip
        values |= {"scope": self.scope} if self.scope is not None else {}
        values |= {"expires_at": self.expires_at} if self.expires_at else {}
        encoded = {name.encode(): str(value).encode() for name, value in values.items()}
        return encoded | {KEYSPACE.vector.encode(): np.asarray(self.vector, "<f4").tobytes()}


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of two vectors as float32 holds them."""
    x, y = (np.asarray(each, "f4").astype("f8") for each in (a, b))
    return float(x @ y / (np.linalg.norm(x) * np.linalg.norm(y)))


class Answerer:
    """Answers FT.SEARCH over its rows; each answer is one round trip."""

    def __init__(self, rows: Sequence[Row], protocol: int = 3) -> None:
        self.rows, self.protocol = rows, protocol
        self.round_trips = 0

    def run(self, plan: Generator[Any, Any, Any], embed: Callable[[str], Sequence[float]] | None = None) -> Any:
        """What the plan returns."""
        answer = None
        try:
            while True:
                answer = self._serve(plan.send(answer), embed)
        except StopIteration as stop:
            return stop.value

    def _serve(self, step: Any, embed: Any) -> Any:
        if isinstance(step, Open):
            return KEYSPACE
        if isinstance(step, Embed):
            return [Embedding(np.asarray(embed(text), "<f4").tobytes()) for text in step.texts]
        assert isinstance(step, Commands)
        self.round_trips += 1
        return [self._search(command) if command[0] == "FT.SEARCH" else ["", []] for command in step.commands]

    def _search(self, command: Sequence[Any]) -> Any:
        parameters = _after(command, "PARAMS")
        names = dict(zip(parameters[::2], parameters[1::2], strict=True))
        found = [row for row in self.rows if row.token == names["token"]]
        if "KNN" in command[2]:
            vector = np.frombuffer(names["vector"], "<f4").tolist()
            found = sorted(found, key=lambda row: -cosine(row.vector, vector))[: names["count"]]
        else:
            vector = None
            field = command[command.index("SORTBY") + 1]
            assert command[command.index("SORTBY") + 2] == "DESC"
            found = sorted(found, key=lambda row: -getattr(row, field))
        place = command.index("LIMIT")
        found = found[command[place + 1] :][: command[place + 2]]
        return self._reply([(row, self._returned(row, vector, _after(command, "RETURN"))) for row in found])

    def _returned(self, row: Row, vector: Any, names: Sequence[Any]) -> dict[bytes, bytes] | None:
        if row.ghost:
            return None
        fields = row.fields()
        if vector is not None:
            fields[b"distance"] = repr(1 - cosine(row.vector, vector)).encode()
        wanted = [name.encode() for name in names]
        return {name: fields[name] for name in wanted if name in fields}

    def _reply(self, found: Sequence[tuple[Row, dict[bytes, bytes] | None]]) -> Any:
        if self.protocol == 3:
            results = [{b"id": row.id.encode(), b"extra_attributes": fields} for row, fields in found]
            results = [{name: value for name, value in each.items() if value is not None} for each in results]
            return {b"total_results": len(found), b"results": results, b"warning": []}
        flat: list[Any] = [len(found)]
        for row, fields in found:
            flat += [row.id.encode(), None if fields is None else [part for pair in fields.items() for part in pair]]
        return flat


def _after(command: Sequence[Any], word: str) -> Sequence[Any]:
    """The arguments that a counted word of a command has."""
    place = command.index(word)
    return command[place + 2 : place + 2 + command[place + 1]]
