"""One round trip over a connection of a pool: commands sent together, and all their replies.

redis-py's pipelines do the same, and take three times as long over it, since they look after every command.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.exceptions import ResponseError

from tiered_memory.plan import Command


def exchange(pool: Any, commands: Sequence[Command]) -> list[Any]:
    """The replies of `commands`, as bytes; a refusal is among them as an exception.

    Raises what redis-py does when the connection fails; it is then closed, so that no reply is read by another.
    """
    connection = pool.get_connection()
    try:
        connection.send_packed_command(connection.pack_commands(commands))
        return [_reply(connection) for _ in commands]
    except BaseException:
        connection.disconnect()
        raise
    finally:
        pool.release(connection)


def _reply(connection: Any) -> Any:
    try:
        return connection.read_response(disable_decoding=True)
    except ResponseError as refusal:
        return refusal


async def aexchange(pool: Any, commands: Sequence[Command]) -> list[Any]:
    """As `exchange`, on the event loop."""
    connection = await pool.get_connection()
    try:
        await connection.send_packed_command(connection.pack_commands(commands))
        return [await _areply(connection) for _ in commands]
    except BaseException:
        await connection.disconnect(nowait=True)
        raise
    finally:
        await pool.release(connection)


async def _areply(connection: Any) -> Any:
    try:
        return await connection.read_response(disable_decoding=True)
    except ResponseError as refusal:
        return refusal
