"""The index over a partition's records: its definition, making it, and checking the one that is there."""

from __future__ import annotations

from typing import Any

from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.engine.reply import pairs, strings
from tiered_memory.errors import EmbedderMismatch, SchemaMismatch, StoreUnavailable
from tiered_memory.plan import Command, Pause, Plan, ask
from tiered_memory.settings import VectorType

LAYOUT = "1"
"""The version of the layout that `keys` describes."""

NUMBERS: dict[VectorType, str] = {"float32": "<f4", "float16": "<f2"}
"""What numpy calls the types of numbers that vectors may be made of."""

STATUSES = ("active", "candidate", "superseded")
"""The fields that hold a record's token, one for each status."""

_BUILDING_TIME = 60.0
"""Seconds to wait for an index that the server builds over records which are there already."""

_PAUSE = 0.1

_TAGS = (*STATUSES, "under")
_SORTED = ("at", "uses")
_NUMBERS = ("confidence", "importance", "active_from", "superseded_at")


def open_namespace(
    namespace: str, partitions: int, embedder: str, dimensions: int, vectors: VectorType
) -> Plan[Keyspace]:
    """The keys of a namespace, made now or found as they should be.

    Raises `EmbedderMismatch` or `SchemaMismatch`, with nothing written, when it was made otherwise.
    """
    keyspace = Keyspace(namespace, partitions, vector_field(embedder), NUMBERS[vectors])
    wanted = {
        "layout": LAYOUT,
        "partitions": str(partitions),
        "embedder": embedder,
        "dimensions": str(dimensions),
        "vectors": vectors,
    }
    setting = [("HSETNX", keyspace.meta, name, value) for name, value in wanted.items()]
    *_, found = yield from ask(*setting, ("HGETALL", keyspace.meta))
    _check_meta(namespace, wanted, strings(pairs(found)))
    yield from _settle_indexes(keyspace, dimensions, vectors)
    return keyspace


def _check_meta(namespace: str, wanted: dict[str, str], found: dict[str, str]) -> None:
    if (found["embedder"], found["dimensions"]) != (wanted["embedder"], wanted["dimensions"]):
        raise EmbedderMismatch(
            f"namespace {namespace!r} holds vectors of {found['embedder']!r} ({found['dimensions']} dimensions), the "
            f"configuration has {wanted['embedder']!r} ({wanted['dimensions']}); use the former, or another namespace"
        )
    for name in ("layout", "partitions", "vectors"):
        if found[name] != wanted[name]:
            raise SchemaMismatch(
                f"namespace {namespace!r} was made with {name} {found[name]}, and this process wants {wanted[name]}; "
                f"use another namespace, or export it and import it again"
            )


def _settle_indexes(keyspace: Keyspace, dimensions: int, vectors: VectorType) -> Plan[None]:
    partitions = range(keyspace.partitions)
    fields = _fields(keyspace.vector, dimensions, vectors)
    started = yield from ask(*(("EXISTS", keyspace.sequence(partition)) for partition in partitions))
    creating = (_create(keyspace, each, fields, scans=bool(started[each])) for each in partitions)
    made = yield from ask(*creating, keep_errors=True)
    for reply in made:
        if isinstance(reply, Exception) and "already exists" not in str(reply):
            raise reply
    for _ in range(int(_BUILDING_TIME / _PAUSE)):
        replies = yield from ask(*(("FT.INFO", keyspace.index(partition)) for partition in partitions))
        infos = [strings(pairs(reply)) for reply in replies]
        for info in infos:
            _check_index(fields, info)
        if not any(started) or all(float(info.get("percent_indexed", 1)) == 1 for info in infos):
            return
        yield Pause(_PAUSE)
    raise StoreUnavailable(f"the index of namespace {keyspace.namespace!r} is still being built; try again later")


def _fields(vector: str, dimensions: int, vectors: VectorType) -> list[Any]:
    from redisvl.schema import IndexSchema  # type: ignore[import-untyped]

    fields: list[dict[str, Any]] = [{"name": name, "type": "tag", "attrs": {"case_sensitive": True}} for name in _TAGS]
    fields += [{"name": "terms", "type": "text", "attrs": {"no_stem": True}}]
    fields += [{"name": name, "type": "numeric", "attrs": {"sortable": True}} for name in _SORTED]
    fields += [{"name": name, "type": "numeric"} for name in _NUMBERS]
    attributes = {"dims": dimensions, "algorithm": "flat", "distance_metric": "cosine", "datatype": vectors}
    fields += [{"name": vector, "type": "vector", "attrs": attributes}]
    schema = IndexSchema.from_dict({"index": {"name": "records", "storage_type": "hash"}, "fields": fields})
    return [field.as_redis_field() for field in schema.fields.values()]


def _create(keyspace: Keyspace, partition: int, fields: list[Any], *, scans: bool) -> Command:
    definition = [argument for field in fields for argument in field.redis_args()]
    prefix = keyspace.records(partition)
    scan = () if scans else ("SKIPINITIALSCAN",)
    options = ("PREFIX", 1, prefix, "NOOFFSETS", *scan, "STOPWORDS", 0)
    return ("FT.CREATE", keyspace.index(partition), "ON", "HASH", *options, "SCHEMA", *definition)


def _check_index(fields: list[Any], info: dict[str, Any]) -> None:
    found = {(each := pairs(attribute))["identifier"]: each["type"] for attribute in info["attributes"]}
    wanted = {str(field.redis_args()[0]): str(field.redis_args()[1]) for field in fields}
    missing = {name: kind for name, kind in wanted.items() if found.get(name) != kind}
    if missing:
        raise SchemaMismatch(
            f"index {info['index_name']} lacks {missing}; it has {found}. Drop it, or use another namespace"
        )
