"""How many documents a second the context store takes, beside raw Redis commands for the same keys.

    python benchmarks/documents.py [--url redis://localhost:6379] [--blocks 7] [--json FILE]

Both sides use one server and one client, in turns. The raw side knows what is to be written: it sends the fields of
the records and the members of the sets ready made, in one pipeline, and looks nothing up.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from common import Batch, PreparedEmbedder, environment, interleave, send, server, show, summarize
from peers.protocol import Workload
from redis import Redis

from tiered_memory import Document, Memory, NotFound, memory
from tiered_memory.engine.keys import Keyspace, vector_field

CALLS = 40
CONTENT = "A line of a document that says something about the work of the day.\n" * 15
"""One kilobyte."""


def measure(url: str, blocks: int) -> Iterator[dict[str, Any]]:
    """A row for documents one by one, and for a hundred at once."""
    namespace = f"documents-{uuid4().hex[:8]}"
    embedder = PreparedEmbedder(Workload.drawn(1, 1, 1, 8))
    keyspace = Keyspace(namespace, 1, vector_field(embedder.id))
    with memory(url, namespace=namespace, embedder=embedder) as mem, Redis.from_url(url) as client:
        for count in (1, 100):
            yield _compared(mem, client, keyspace, count, blocks)
        mem.clear()


def _compared(mem: Memory, client: Redis, keyspace: Keyspace, count: int, blocks: int) -> dict[str, Any]:
    documents = [Document(f"viking://resources/part/{number:04}.md", CONTENT) for number in range(count)]
    store = mem.store.documents
    store.put_many(documents)
    raw = _raw(client, keyspace, [each.uri for each in documents])

    def reset(_: int) -> None:
        with suppress(NotFound):  # after the raw side there is nothing
            store.remove("viking://resources/part")
        client.delete(*(command[1] for command in raw))

    taken = interleave(lambda _: send(client, raw), lambda _: store.put_many(documents), CALLS, blocks, reset)
    row = {"what": f"put {count}"} | summarize(*taken)
    speeds = {f"{side}documents/s": count * 1e6 / row[f"{side}p50 µs"] for side in ("raw ", "")}
    return row | speeds


def _raw(client: Redis, keyspace: Keyspace, uris: list[str]) -> Batch:
    """The commands that write the same documents elsewhere in the partition, one after the other."""
    keys = keyspace.of(None)
    batch: Batch = [("INCRBY", f"{keyspace.records(0)}raw-sequence", len(uris))]
    for number, uri in enumerate(uris, 1):
        fields = _record(client, keyspace, uri)
        batch.append(("HSET", f"{keyspace.records(0)}raw{number}", *(part for pair in fields.items() for part in pair)))
        for kind in ("documents", "enabled"):
            batch.append(("ZADD", f"{keys.key(kind, 'raw')}", 0, uri))
        batch.append(("HSET", keys.key("nodes", "raw"), uri, number))
    return batch


def _record(client: Redis, keyspace: Keyspace, uri: str) -> dict[bytes, bytes]:
    for key in client.scan_iter(f"{keyspace.records(0)}*", count=1000):
        if client.hget(key, "uri") == uri.encode():
            return client.hgetall(key)  # type: ignore[return-value]
    raise LookupError(uri)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", help="a Redis to measure; default: one of its own, thrown away afterwards")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to write the results")
    given = parser.parse_args()
    with server(given.url) as url, Redis.from_url(url) as client:
        show(environment(client), {"documents of 1 KB": list(measure(url, given.blocks))}, given.json)


if __name__ == "__main__":
    main()
