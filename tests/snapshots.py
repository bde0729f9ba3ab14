"""What a namespace holds at one moment, to be compared with another."""

from __future__ import annotations

from typing import Any

from redis import Redis


def snapshot(client: Redis, namespace: str) -> dict[bytes, Any]:
    """Every key with its value; of a hash the fields, since its dump has them in an order that changes by itself."""
    keys = client.scan_iter(f"{{{namespace}:*", count=1000)
    return {key: client.hgetall(key) if client.type(key) == b"hash" else client.dump(key) for key in keys}
