"""Memory for agents: four tiers, exact scopes, on Redis."""

from __future__ import annotations

from tiered_memory.config import EpisodicConfig, MemoryConfig, ProceduralConfig, SemanticConfig, WorkingConfig
from tiered_memory.errors import (
    ConfigError,
    CorruptRecord,
    EmbedderMismatch,
    EmbeddingError,
    EmbeddingRateLimited,
    InvalidInput,
    InvalidItem,
    InvalidQuery,
    InvalidScope,
    MissingExtra,
    NotFound,
    ResultLimitExceeded,
    SchemaMismatch,
    StoreError,
    StoreUnavailable,
    StoreUnsupported,
    TieredMemoryError,
    UnknownTier,
    UpdateConflict,
)
from tiered_memory.items import Hits, MemoryItem, MemoryRecord, Page, RecalledMemory, Remembered, Stats
from tiered_memory.memory import AsyncMemory, AsyncScopedMemory, Memory, ScopedMemory, async_memory, memory

__version__ = "0.1.0"

__all__ = [
    "AsyncMemory",
    "AsyncScopedMemory",
    "ConfigError",
    "CorruptRecord",
    "EmbedderMismatch",
    "EmbeddingError",
    "EmbeddingRateLimited",
    "EpisodicConfig",
    "Hits",
    "InvalidInput",
    "InvalidItem",
    "InvalidQuery",
    "InvalidScope",
    "Memory",
    "MemoryConfig",
    "MemoryItem",
    "MemoryRecord",
    "MissingExtra",
    "NotFound",
    "Page",
    "ProceduralConfig",
    "RecalledMemory",
    "Remembered",
    "ResultLimitExceeded",
    "SchemaMismatch",
    "ScopedMemory",
    "SemanticConfig",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "StoreUnsupported",
    "TieredMemoryError",
    "UnknownTier",
    "UpdateConflict",
    "WorkingConfig",
    "__version__",
    "async_memory",
    "memory",
]
