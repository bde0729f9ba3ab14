"""Embedders: what turns texts into vectors. One module each; `base` says what they have in common.

The folder stands at the repository's root, next to `tiers/`, since these two are where one extends
the package; installed, it is `tiered_memory.embedders`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tiered_memory.embedders.base import Embedder

if TYPE_CHECKING:
    from tiered_memory.embedders.cached import CachedEmbedder
    from tiered_memory.embedders.minilm import MiniLMEmbedder
    from tiered_memory.embedders.openai import OpenAIEmbedder
    from tiered_memory.embedders.redisvl import RedisVLEmbedder
    from tiered_memory.embedders.static import StaticEmbedder

__all__ = [
    "CachedEmbedder",
    "Embedder",
    "MiniLMEmbedder",
    "OpenAIEmbedder",
    "RedisVLEmbedder",
    "StaticEmbedder",
]

_MODULES = {
    "CachedEmbedder": "cached",
    "MiniLMEmbedder": "minilm",
    "OpenAIEmbedder": "openai",
    "RedisVLEmbedder": "redisvl",
    "StaticEmbedder": "static",
}


def __getattr__(name: str) -> Any:
    # numpy costs more to import than the rest of the package, so it waits until an embedder is named
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
