"""How values of settings are checked and converted: by a function of the name that the setting has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from attrs import AttrsInstance, field, fields_dict

from tiered_memory.errors import ConfigError
from tiered_memory.items import Mode

GraphMode: TypeAlias = Literal["off", "boost", "filter"]
"""What a recall makes of the graph."""

EmbedderDown: TypeAlias = Literal["raise", "defer"]
"""What becomes of what needs the embedder while that is out of reach."""

VectorType: TypeAlias = Literal["float32", "float16"]
"""What the numbers of a vector are."""

C = TypeVar("C", bound=AttrsInstance)

_NAMESPACE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def number(value: Any, name: str, low: float, high: float = float("inf")) -> float:
    """A number within bounds, by the name of its setting."""
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = float("nan")
    if not low <= found <= high:
        raise ConfigError(f"{name}={value!r} must be a number from {low:g} to {high:g}")
    return found


def whole(value: Any, name: str, low: int) -> int:
    """A whole number of at least `low`, likewise."""
    found = number(value, name, low, 2**53)
    if found != int(found):
        raise ConfigError(f"{name}={value!r} must be a whole number")
    return int(found)


def span(value: Any, name: str) -> timedelta:
    """A time span, also from seconds, that is longer than nothing, likewise."""
    try:
        found = value if isinstance(value, timedelta) else timedelta(seconds=float(value))
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{name}={value!r} must be a timedelta or a number of seconds") from None
    if found <= timedelta(0):
        raise ConfigError(f"{name}={value!r} must be longer than nothing")
    return found


def one_of(value: Any, name: str, choices: Any) -> Any:
    """One of the texts that a `Literal` has, likewise."""
    if value not in get_args(choices):
        raise ConfigError(f"{name}={value!r} must be one of {', '.join(get_args(choices))}")
    return value


def max_items(value: Any) -> int:
    return whole(value, "max_items", 1)


def idle(value: Any) -> timedelta | None:
    return None if value is None else span(value, "idle")


def half_life(value: Any) -> timedelta:
    return span(value, "half_life")


def weight(value: Any) -> float:
    return number(value, "weight", 0, 1)


def neighbours(value: Any) -> float:
    return number(value, "neighbours", 0, 1)


def month(value: Any) -> float:
    return number(value, "month", 0, 1)


def speaker(value: Any) -> float:
    return number(value, "speaker", 0, 1)


def question(value: Any) -> float:
    return number(value, "question", 0, 1)


def threshold(value: Any) -> float | None:
    return None if value is None else number(value, "threshold", -1, 1)


def partitions(value: Any) -> int | None:
    return None if value is None else whole(value, "partitions", 1)


def seconds(value: Any) -> float:
    """How long something may take, in seconds."""
    return number(value, "a time-out", 0.001)


def retries(value: Any) -> int:
    return whole(value, "retries", 0)


def mode(value: Any) -> Mode:
    return one_of(value, "mode", Mode)  # type: ignore[no-any-return]


def vectors(value: Any) -> VectorType:
    return one_of(value, "vectors", VectorType)  # type: ignore[no-any-return]


def embedder_down(value: Any) -> EmbedderDown:
    return one_of(value, "embedder_down", EmbedderDown)  # type: ignore[no-any-return]


def diversity(value: Any) -> float:
    return number(value, "diversity", 0, 1)


def reranked(value: Any) -> int:
    return whole(value, "reranked", 1)


def durable_bound(value: Any) -> int | None:
    """What `max_items` is set to, of a tier that needn't have a bound."""
    return None if value is None else whole(value, "max_items", 1)


def ttl(value: Any) -> timedelta | None:
    return None if value is None else span(value, "ttl")


def floor(value: Any) -> float | None:
    return None if value is None else number(value, "confidence_floor", 0, 1)


def near(value: Any) -> float | None:
    return None if value is None else number(value, "near_duplicate", -1, 1)


def sources(value: Any) -> frozenset[str]:
    if isinstance(value, str) or not all(isinstance(each, str) for each in value):
        raise ConfigError(f"review_sources={value!r} must be several texts")
    return frozenset(value)


def graph_mode(value: Any) -> GraphMode:
    return one_of(value, "recall", GraphMode)  # type: ignore[no-any-return]


def least_hits(value: Any) -> int:
    return whole(value, "least_hits", 1)


def namespace(value: Any) -> str:
    if not isinstance(value, str) or not _NAMESPACE.fullmatch(value):
        raise ConfigError(f"namespace={value!r} must be 1 to 64 of the characters A-Z a-z 0-9 _ . -")
    return value


def section(config: type[C]) -> Any:
    """A field for settings that stand together, which has the defaults if it isn't given."""
    return field(factory=config, converter=lambda value: section_of(config, value))


def section_of(config: type[C], value: Any) -> C | None:
    """Settings that stand together: from a mapping, or as they are; the defaults for True, none for None or False."""
    if value is None or value is False:
        return None
    if value is True:
        return config()
    return value if isinstance(value, config) else from_mapping(config, value)


def from_mapping(config: type[C], settings: object) -> C:
    """The settings that a mapping names; raises `ConfigError` for an unknown one."""
    if not isinstance(settings, Mapping):
        raise ConfigError(f"{config.__name__} can't be made from {type(settings).__name__}; pass a mapping")
    known = fields_dict(config)
    for name in settings:
        if name not in known:
            raise ConfigError(f"{name!r} is not a setting of {config.__name__}; there are: {', '.join(known)}")
    return config(**settings)
