"""The exceptions of tiered-memory; each has a stable `code` for logs and metrics.

TieredMemoryError
├── InvalidInput (ValueError)       what was passed can't be used; nothing was written
│   ├── InvalidItem                 an item of a batch, named by its place
│   ├── InvalidScope
│   ├── InvalidQuery                a threshold, a cursor, or what is asked for
│   │   └── InvalidLimit            k, a limit, or another bound on how many
│   ├── UnknownTier
│   ├── BadPath                     a file's path that could mean something else, or lead elsewhere
│   ├── TooLarge                    a file is larger than is allowed
│   ├── NotUnique                   the text to replace doesn't occur exactly once in a file
│   └── ConfigError
├── EmbeddingError                  the embedder failed, or answered with something unusable
│   └── EmbeddingRateLimited        the provider refused for now
├── EmbedderMismatch                another embedder wrote what is stored
├── StoreError
│   ├── StoreUnavailable            Redis can't be reached, or answered too late
│   ├── StoreUnsupported            Redis lacks what is needed (search module, version, database 0)
│   ├── SchemaMismatch              the namespace was made with another layout
│   ├── ResultLimitExceeded         the server's own cap is below what was asked for
│   ├── UpdateConflict              what was to be updated changed meanwhile, again and again
│   │   └── FileConflict            a file isn't the one that was read
│   ├── ReviewConflict              what was reviewed isn't what waits or stands there now
│   ├── EmbeddingsUnavailable       there are too few vectors to compare
│   ├── FileExists
│   ├── ReadOnly                    files there can't be changed
│   └── CorruptRecord               something under our keys isn't ours
├── NotFound (LookupError)          nothing stands at that id
│   ├── FileNotFound
│   └── NoCandidate                 nothing waits for review at that id
└── MissingExtra (ImportError)      an optional dependency isn't installed
"""

from __future__ import annotations

from collections.abc import Sequence


class TieredMemoryError(Exception):
    """The base of every exception that this package raises on purpose."""

    code = "error"


class InvalidInput(TieredMemoryError, ValueError):
    """What was passed can't be used; nothing was written."""

    code = "invalid_input"


class InvalidItem(InvalidInput):
    """An item of a `remember` batch can't be used; the message names its place in the batch."""

    code = "invalid_item"


class InvalidScope(InvalidInput):
    """A scope is empty, too long, not text, or not the one that the handle is bound to."""

    code = "invalid_scope"


class InvalidQuery(InvalidInput):
    """A threshold or a cursor is out of its range, or what is asked for makes no sense."""

    code = "invalid_query"


class InvalidLimit(InvalidQuery):
    """`k`, a limit or another bound on how many is out of its range."""

    code = "invalid_limit"


class UnknownTier(InvalidInput):
    """A tier doesn't exist, or is switched off by the configuration."""

    code = "unknown_tier"


class ConfigError(InvalidInput):
    """A setting is out of its range, or unknown."""

    code = "invalid_config"


class BadPath(InvalidInput):
    """A file's path is relative, or has a part that could mean something else or lead elsewhere."""

    code = "bad_path"


class TooLarge(InvalidInput):
    """A file's content is larger than the file system allows."""

    code = "too_large"


class NotUnique(InvalidInput):
    """The text to replace occurs in the file not at all, or more than once; the file is as it was."""

    code = "not_unique"

    def __init__(self, message: str, lines: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.lines = tuple(lines)
        """The numbers of the lines, from 1, in which it begins; a line with several is named once."""


class EmbeddingError(TieredMemoryError):
    """The embedder failed, or its answer has the wrong count, dimension, or values that aren't finite."""

    code = "embedding_failed"

    place: int | None = None
    """Which of the texts it is about, from 0; None for all of them."""


class EmbeddingRateLimited(EmbeddingError):
    """The embedding provider refused for now, after its client's own retries."""

    code = "embedding_rate_limited"


class EmbedderMismatch(TieredMemoryError):
    """The namespace holds vectors of another embedder; comparing them would be meaningless."""

    code = "embedder_mismatch"


class StoreError(TieredMemoryError):
    """The store refused, or can't be used as it is."""

    code = "store_error"


class StoreUnavailable(StoreError):
    """Redis can't be reached, or didn't answer within the time-out."""

    code = "store_unavailable"


class StoreUnsupported(StoreError):
    """The Redis server lacks something that is needed: the search module, a version, database 0."""

    code = "store_unsupported"


class SchemaMismatch(StoreError):
    """The namespace exists with another layout, number of partitions, or index definition."""

    code = "schema_mismatch"


class ResultLimitExceeded(StoreError):
    """The server's own cap on results is below what was asked for; nothing is cut silently."""

    code = "result_limit_exceeded"


class UpdateConflict(StoreError):
    """What was to be updated was changed by others each time it was tried."""

    code = "update_conflict"


class FileConflict(UpdateConflict):
    """A file isn't the one that was read: its SHA-256 differs; read it again, then decide."""

    code = "file_conflict"


class FileExists(StoreError):
    """A file or folder stands there already."""

    code = "file_exists"


class ReadOnly(StoreError):
    """Files there can be read, but not changed."""

    code = "read_only"


class ReviewConflict(StoreError):
    """What was reviewed isn't what waits or stands there now; look at it again, then decide."""

    code = "review_conflict"


class EmbeddingsUnavailable(StoreError):
    """Fewer than two memories have a vector, so that nothing can be said about their likeness."""

    code = "embeddings_unavailable"


class CorruptRecord(StoreError):
    """A value under our keys isn't one that this package wrote."""

    code = "corrupt_record"


class NotFound(TieredMemoryError, LookupError):
    """Nothing with that id stands in that tier and scope."""

    code = "not_found"


class FileNotFound(NotFound):
    """No file has that path."""

    code = "file_not_found"


class NoCandidate(NotFound):
    """Nothing waits for review at that id."""

    code = "no_candidate"


class MissingExtra(TieredMemoryError, ImportError):
    """An optional dependency isn't installed; the message names the pip command."""

    code = "missing_extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'tiered-memory[{extra}]'")
        self.extra = extra
