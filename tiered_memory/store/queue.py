"""Jobs as values: what may be enqueued, how that travels to a script, and what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias, get_args

from attrs import field, frozen

from tiered_memory import clock
from tiered_memory.checks import check_count, encode_metadata, is_number
from tiered_memory.engine.keys import Keyspace, ScopeKeys, decode_scope
from tiered_memory.engine.reply import Fields, pairs, text
from tiered_memory.errors import CorruptRecord, InvalidInput, InvalidLimit, InvalidPayload, InvalidURI
from tiered_memory.scope import utf8
from tiered_memory.store.uri import parse

JobStatus: TypeAlias = Literal["pending", "running", "done", "failed"]
"""Waits, or is claimed by a worker, or has ended one way or the other."""

STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)

MAX_ATTEMPTS = 5
"""How often a job is tried before it stays failed."""

MAX_PAYLOAD_BYTES = 256 * 1024
"""The longest payload, in bytes of JSON."""

MAX_DELAY = timedelta(days=36_525)
"""The longest lease and the longest delay: a hundred years."""

_WORD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@frozen(kw_only=True)
class Job:
    """A job that a worker has claimed.

    Attributes:
        id: Its id, increasing in its scope.
        kind: What is to be done.
        payload: With what, JSON values by name; `uri` is what it is about.
        attempts: How often it was claimed, this time included, without the times that it was deferred.
        scope: The scope that it belongs to; None is the unscoped pool.
        claim: Which claim of this job it is: another worker's has another number.
        queued_at: When it was enqueued.
        claimed_at: When it was claimed.
        lease_until: When the claim ends, unless it is renewed.
    """

    id: int
    kind: str
    payload: dict[str, Any] = field(repr=False)
    attempts: int
    scope: str | None
    claim: int
    queued_at: datetime
    claimed_at: datetime
    lease_until: datetime

    @property
    def uri(self) -> str | None:
        """What the job is about, if it is about a URI."""
        return self.payload.get("uri")


@frozen(kw_only=True)
class FailedJob:
    """A job that has failed for good.

    Attributes:
        id: Its id.
        kind: What was to be done.
        uri: What it was about; None without a URI.
        scope: The scope that it belongs to; None is the unscoped pool.
        attempts: How often it was tried.
        max_attempts: How often a job is tried at the most.
        last_error: Why it failed, as one word for a kind of failure, or None.
        failed_at: When.
    """

    id: int
    kind: str
    uri: str | None
    scope: str | None
    attempts: int
    max_attempts: int
    last_error: str | None
    failed_at: datetime


@frozen
class QueueDetail:
    """How far behind a queue is, and what went wrong.

    Attributes:
        oldest_pending_ms: For how long the job that waits the longest could have been run, in milliseconds; None when
            none could be.
        failed: The jobs that failed last, the newest first.
    """

    oldest_pending_ms: int | None
    failed: list[FailedJob]


def check_kind(kind: object) -> str:
    """`kind` itself: 1 to 64 of the characters A-Z a-z 0-9 _ . -"""
    if not isinstance(kind, str) or not _WORD.fullmatch(kind):
        raise InvalidInput(f"kind={kind!r} must be 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return kind


def check_kinds(kinds: object) -> list[str]:
    """Kinds that are named: one, or several, each once."""
    if isinstance(kinds, str):
        return [check_kind(kinds)]
    if isinstance(kinds, bytes) or not isinstance(kinds, Iterable):
        raise InvalidInput(f"kinds must be a str or several, not {type(kinds).__name__}")
    return list(dict.fromkeys(map(check_kind, kinds)))


def check_statuses(statuses: object) -> list[str]:
    """Statuses that are named, each once."""
    if isinstance(statuses, str | bytes) or not isinstance(statuses, Iterable):
        raise InvalidInput(f"statuses must be several of {', '.join(STATUSES)}")
    chosen = list(dict.fromkeys(statuses))
    for status in chosen:
        if status not in STATUSES:
            raise InvalidInput(f"status {status!r} isn't one of {', '.join(STATUSES)}")
    return chosen


def check_reason(reason: object) -> str:
    """A reason that names a kind of failure; None is `error`. Another one is never quoted, since it may be a text."""
    if reason is None:
        return "error"
    if not isinstance(reason, str) or not _WORD.fullmatch(reason):
        raise InvalidInput("reason must name a kind of failure, such as 'timeout': 1 to 64 of A-Z a-z 0-9 _ . -")
    return reason


def check_span(seconds: object, name: str) -> timedelta:
    """`seconds`, a number of seconds or a time span, from a millisecond to `MAX_DELAY`; raises `InvalidLimit`."""
    try:
        span = timedelta(seconds=seconds) if is_number(seconds) else seconds
    except (ValueError, OverflowError):
        span = None
    if not isinstance(span, timedelta) or not timedelta(milliseconds=1) <= span <= MAX_DELAY:
        raise InvalidLimit(
            f"{name}={seconds!r} must be a number of seconds or a timedelta, from 0.001 s to {MAX_DELAY}"
        )
    return span


def check_delay(delay_ms: int) -> timedelta:
    """A delay of whole milliseconds, at least 0; raises `InvalidLimit`."""
    longest = MAX_DELAY // timedelta(milliseconds=1)
    return timedelta(milliseconds=min(check_count(delay_ms, "delay_ms", 0), longest))


def address(keys: ScopeKeys) -> tuple[str, str]:
    """What a script needs to find the jobs of a scope."""
    return keys.member, keys.token("tree")


def job_arguments(jobs: Iterable[tuple[str, Mapping[str, Any]]]) -> list[str | int]:
    """Pairs of kind and payload as scripts read them; raises `InvalidPayload`, or `InvalidInput` for a kind."""
    rows = [_row(kind, payload) for kind, payload in jobs]
    return [len(rows), *(part for row in rows for part in row)]


def job_id(keys: ScopeKeys, number: int) -> int:
    """The id of the job that has this number in the scope's partition."""
    return number * keys.partitions + keys.partition


def number_of(keys: ScopeKeys, id: int) -> int:
    """The number that the job with this id has in the scope's partition; 0, which none has, if it can't be there."""
    number, partition = divmod(check_count(id, "id", 0), keys.partitions)
    return number if partition == keys.partition else 0


def claimed_job(keyspace: Keyspace, partition: int, number: int, reply: Any) -> Job:
    """A claimed job from its fields; raises `CorruptRecord`, and `InvalidPayload` when only its payload is wrong."""
    fields: Fields = pairs(reply)
    try:
        return Job(
            id=number * keyspace.partitions + partition,
            kind=text(fields[b"kind"]),
            payload=_payload(fields[b"payload"]),
            attempts=int(fields[b"attempts"]),
            scope=decode_scope(text(fields[b"scope"])),
            claim=int(fields[b"claims"]),
            queued_at=clock.from_micros(int(fields[b"queued_at"])),
            claimed_at=clock.from_micros(int(fields[b"claimed_at"])),
            lease_until=clock.from_micros(int(fields[b"moment"])),
        )
    except (KeyError, ValueError) as error:
        if isinstance(error, InvalidPayload):
            raise
        raise _corrupt() from None


def failed_jobs(keyspace: Keyspace, partition: int, rows: Sequence[Any]) -> list[FailedJob]:
    """Failed jobs from their numbers and fields."""
    return [_failed(number * keyspace.partitions + partition, pairs(reply)) for number, reply in rows]


def _failed(id: int, fields: Fields) -> FailedJob:
    try:
        return FailedJob(
            id=id,
            kind=text(fields[b"kind"]),
            uri=text(fields[b"uri"]) or None,
            scope=decode_scope(text(fields[b"scope"])),
            attempts=int(fields[b"attempts"]),
            max_attempts=MAX_ATTEMPTS,
            last_error=text(fields[b"last_error"]) or None,
            failed_at=clock.from_micros(int(fields[b"moment"])),
        )
    except (KeyError, ValueError):
        raise _corrupt() from None


def _corrupt() -> CorruptRecord:
    return CorruptRecord("a job in the store isn't as we wrote it")


def _payload(data: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(data)
    except ValueError:
        payload = None
    if not isinstance(payload, dict):
        raise InvalidPayload("the payload of a job isn't a JSON object")
    return payload


def _row(kind: object, payload: object) -> tuple[str, str, str, str]:
    encoded = _encoded(check_kind(kind), payload)
    assert isinstance(payload, Mapping)
    return check_kind(kind), encoded, _uri(payload.get("uri")), _hash(payload.get("content_hash"))


def _encoded(kind: str, payload: object) -> str:
    if not isinstance(payload, Mapping) or not all(isinstance(name, str) for name in payload):
        raise InvalidPayload(f"the payload of a job of kind {kind!r} must be a mapping with texts as its keys")
    try:
        encoded = encode_metadata(payload)
    except (TypeError, ValueError, RecursionError) as bad:
        raise InvalidPayload(
            f"the payload of a job of kind {kind!r} must hold JSON values only ({type(bad).__name__})"
        ) from None
    size = len(utf8(encoded, InvalidPayload, "payload"))
    if size > MAX_PAYLOAD_BYTES:
        raise InvalidPayload(f"the payload of a job is {size} bytes of JSON; at most {MAX_PAYLOAD_BYTES} are allowed")
    return encoded


def _uri(uri: object) -> str:
    try:
        return "" if uri is None else parse(uri)
    except InvalidURI as error:
        raise InvalidPayload(f"the payload's uri: {error}") from None


def _hash(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        raise InvalidPayload("the payload's content_hash must be hexadecimal digits")
    return value
