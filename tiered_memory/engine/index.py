"""The index over a partition's records: its definition, making it, and checking the one that is there."""

from __future__ import annotations

from typing import Any

from tiered_memory.engine.keys import Keyspace, vector_field
from tiered_memory.engine.reply import pairs, strings
from tiered_memory.engine.scripts import call
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
    keyspace = Keyspace(namespace, partitions, vector_field(embedder, vectors), NUMBERS[vectors])
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
    for name in ("layout", "partitions"):
        if found[name] != wanted[name]:
            raise SchemaMismatch(
                f"namespace {namespace!r} was made with {name} {found[name]}, and this process wants {wanted[name]}; "
                f"use another namespace, or export it and import it again"
            )
    if any(found[name] != wanted[name] for name in ("embedder", "dimensions", "vectors")):
        raise EmbedderMismatch(
            f"namespace {namespace!r} holds vectors of {_described(found)}, the configuration has "
            f"{_described(wanted)}; use the former, move the namespace to the latter (`reembed()`, on the command line "
            f"`tiered-memory reembed`), or use another namespace"
        )


def _described(meta: dict[str, str]) -> str:
    return f"{meta['embedder']!r} ({meta['dimensions']} dimensions, {meta['vectors']})"


def _settle_indexes(keyspace: Keyspace, dimensions: int, vectors: VectorType) -> Plan[None]:
    partitions = range(keyspace.partitions)
    fields = _fields(keyspace.vector, dimensions, vectors)
    started = yield from ask(*(("EXISTS", keyspace.sequence(partition)) for partition in partitions))
    creating = (_create(keyspace, each, fields, scans=bool(started[each])) for each in partitions)
    _check_made((yield from ask(*creating, keep_errors=True)))
    yield from ask(*(_name(keyspace, each) for each in partitions))
    for _ in range(int(_BUILDING_TIME / _PAUSE)):
        infos = yield from _infos(keyspace)
        for info in infos:
            _check_index(fields, info)
        if not any(started) or all(map(_is_built, infos)):
            return
        yield Pause(_PAUSE)
    raise StoreUnavailable(f"the index of namespace {keyspace.namespace!r} is still being built; try again later")


def _check_made(replies: list[Any], expected: str = "already exists") -> None:
    for reply in replies:
        if isinstance(reply, Exception) and expected not in str(reply):
            raise reply


def add_vector_fields(keyspace: Keyspace, dimensions: int, vectors: VectorType) -> Plan[list[list[str]]]:
    """Adds the vector field in use to each partition's index that lacks it; answers the other ones of each.

    Waits until the indexes know which records have no vector in that field.
    """
    partitions = range(keyspace.partitions)
    fields = _fields(keyspace.vector, dimensions, vectors)
    creating = (_create(keyspace, each, fields, scans=True) for each in partitions)
    _check_made((yield from ask(*creating, keep_errors=True)))
    known = [_vector_fields(info) for info in (yield from _infos(keyspace))]
    lacking = [each for each in partitions if keyspace.vector not in known[each]]
    adding = (("FT.ALTER", keyspace.index(each), "SCHEMA", "ADD", *fields[-1]) for each in lacking)
    _check_made((yield from ask(*adding, keep_errors=True)), "Duplicate field")
    while not all(map(_is_built, (yield from _infos(keyspace)))):
        yield Pause(_PAUSE)
    return [[name for name in names if name != keyspace.vector] for names in known]


def _infos(keyspace: Keyspace) -> Plan[list[dict[str, Any]]]:
    replies = yield from ask(*(("FT.INFO", keyspace.index(each)) for each in range(keyspace.partitions)))
    return [strings(pairs(reply)) for reply in replies]


def _is_built(info: dict[str, Any]) -> bool:
    return float(info.get("percent_indexed", 1)) == 1


def lacking(keyspace: Keyspace) -> Plan[int]:
    """How many records have no vector in the field in use, in all partitions."""
    query = (f"ismissing(@{keyspace.vector})", "LIMIT", 0, 0, "TIMEOUT", 0, "DIALECT", 2)
    indexes = map(keyspace.index, range(keyspace.partitions))
    replies = yield from ask(*(("FT.SEARCH", index, *query) for index in indexes))
    return sum(reply[b"total_results"] if isinstance(reply, dict) else reply[0] for reply in replies)


def _vector_fields(info: dict[str, Any]) -> list[str]:
    attributes = map(pairs, info["attributes"])
    return [attribute["identifier"] for attribute in attributes if attribute["type"] == "VECTOR"]


def _fields(vector: str, dimensions: int, vectors: VectorType) -> list[list[str | int]]:
    """The definitions of all fields, that of the vectors last."""
    from redisvl.schema import IndexSchema  # type: ignore[import-untyped]

    fields: list[dict[str, Any]] = [{"name": name, "type": "tag", "attrs": {"case_sensitive": True}} for name in _TAGS]
    fields += [{"name": "terms", "type": "text", "attrs": {"no_stem": True}}]
    fields += [{"name": name, "type": "numeric", "attrs": {"sortable": True}} for name in _SORTED]
    fields += [{"name": name, "type": "numeric"} for name in _NUMBERS]
    attributes = {"dims": dimensions, "algorithm": "flat", "distance_metric": "cosine", "datatype": vectors}
    fields += [{"name": vector, "type": "vector", "attrs": attributes}]
    schema = IndexSchema.from_dict({"index": {"name": "records", "storage_type": "hash"}, "fields": fields})
    definitions = [list(field.as_redis_field().redis_args()) for field in schema.fields.values()]
    definitions[-1].append("INDEXMISSING")  # so that records without a vector are found
    return definitions


def _create(keyspace: Keyspace, partition: int, fields: list[list[str | int]], *, scans: bool) -> Command:
    definition = [argument for field in fields for argument in field]
    prefix = keyspace.records(partition)
    scan = () if scans else ("SKIPINITIALSCAN",)
    options = ("PREFIX", 1, prefix, "NOOFFSETS", *scan, "STOPWORDS", 0)
    return ("FT.CREATE", keyspace.index(partition), "ON", "HASH", *options, "SCHEMA", *definition)


def _name(keyspace: Keyspace, partition: int) -> Command:
    names = (keyspace.vector, keyspace.searched(partition), keyspace.index(partition))
    return call("name_index", keyspace.scopes(partition), names)


def _check_index(fields: list[list[str | int]], info: dict[str, Any]) -> None:
    found = {(each := pairs(attribute))["identifier"]: each["type"] for attribute in info["attributes"]}
    wanted = {str(name): str(kind) for name, kind, *_ in fields}
    missing = {name: kind for name, kind in wanted.items() if found.get(name) != kind}
    if missing:
        raise SchemaMismatch(
            f"index {info['index_name']} lacks {missing}; it has {found}. Drop it, or use another namespace"
        )
