"""The exceptions of tiered-memory; each has a stable `code` for logs and metrics.

TieredMemoryError
├── InvalidInput (ValueError)       what was passed can't be used; nothing was written
│   ├── InvalidItem                 an item of a batch, named by its place
│   ├── InvalidScope
│   ├── InvalidQuery                a threshold, a cursor, or what is asked for
│   │   ├── InvalidField            a field that hits don't have
│   │   └── InvalidLimit            k, a limit, or another bound on how many
│   ├── UnknownTier
│   ├── BadPath                     a file's path that could mean something else, or lead elsewhere
│   ├── TooLarge                    a file or a document is larger than is allowed
│   ├── NotUnique                   the text to replace doesn't occur exactly once in a file
│   ├── InvalidURI                  a URI of the tree isn't one
│   │   └── NotAMemoryURI           a URI isn't one of a memory
│   ├── InvalidMemoryType           a type of memories that the configuration doesn't have
│   ├── IsRoot                      what can't be done to the root of the tree
│   ├── InvalidGroup                a group's tag isn't one
│   ├── InvalidPayload              a job's payload can't be kept as JSON
│   ├── InvalidDim                  a vector isn't one of float32 numbers
│   ├── DimMismatch                 a vector has another length than the namespace's
│   ├── InvalidSkill                files can't be a skill, or a collection of skills
│   ├── DamagedArchive              an archive is cut short, changed, or not one of ours
│   └── ConfigError
├── EmbeddingError                  the embedder failed, or answered with something unusable
│   └── EmbedderUnavailable         the embedder can't be reached for now
│       └── EmbeddingRateLimited    the provider refused for now
├── EmbedderMismatch                another embedder wrote what is stored
├── StoreError
│   ├── StoreUnavailable            Redis can't be reached, or answered too late
│   │   └── IndexUnavailable        the search index is gone; the next call makes it anew
│   ├── StoreUnsupported            Redis lacks what is needed (search module, version, database 0)
│   ├── SchemaMismatch              the namespace was made with another layout
│   ├── ResultLimitExceeded         the server's own cap is below what was asked for
│   ├── UpdateConflict              what was to be updated changed meanwhile, again and again
│   │   └── FileConflict            a file isn't the one that was read
│   ├── ReviewConflict              what was reviewed isn't what waits or stands there now
│   ├── SessionConflict             a session holds other messages than it should be restored with
│   ├── EmbeddingsUnavailable       there are too few vectors to compare
│   ├── FileExists
│   ├── KindConflict                a directory, or a memory, stands where a document should
│   ├── ReadOnly                    files there can't be changed
│   └── CorruptRecord               something under our keys isn't ours
├── NotFound (LookupError)          nothing stands at that id
│   ├── FileNotFound
│   ├── SessionNotFound
│   ├── JobNotFound                 no such job runs
│   ├── NoMemory                    nothing is remembered at that URI
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


class InvalidField(InvalidQuery):
    """A field is asked for that a search's hits don't have."""

    code = "invalid_field"


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
    """The content of a file or a document is larger than is allowed."""

    code = "too_large"


class InvalidURI(InvalidInput):
    """A URI of the tree has another scheme, an empty segment, `.` or `..`, or is too long."""

    code = "invalid_uri"


class NotAMemoryURI(InvalidURI):
    """A URI doesn't lie below `viking://user/memories` and a type."""

    code = "not_a_memory_uri"


class InvalidMemoryType(InvalidInput):
    """The configuration has no such type of memories in the tree."""

    code = "invalid_memory_type"


class IsRoot(InvalidInput):
    """The root of the tree can't be written, removed, switched off or tagged."""

    code = "is_root"


class InvalidGroup(InvalidInput):
    """A group's tag isn't 1 to 64 of `A-Z a-z 0-9 _ / -`, or empty to clear it."""

    code = "invalid_group"


class InvalidPayload(InvalidInput):
    """A job's payload isn't a map of JSON values, is too large, or names a URI that isn't one; nothing was written."""

    code = "invalid_payload"


class InvalidDim(InvalidInput):
    """A vector isn't 1 to 8,192 float32 numbers that are finite and not all zero."""

    code = "invalid_dim"


class DimMismatch(InvalidInput):
    """A vector has another length than those of the namespace's embedder."""

    code = "dim_mismatch"


class InvalidSkill(InvalidInput):
    """Files lack their `SKILL.md`, clash, aren't text, or are no plain files; nothing was written."""

    code = "invalid_skill"


class DamagedArchive(InvalidInput):
    """An archive is cut short, was changed, or isn't one of ours; nothing of it was written."""

    code = "damaged_archive"


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


class EmbedderUnavailable(EmbeddingError):
    """The embedder can't be reached, answers too late, or has a fault for now; the same texts may be embedded later."""

    code = "embedder_unavailable"


class EmbeddingRateLimited(EmbedderUnavailable):
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


class IndexUnavailable(StoreUnavailable):
    """The search index is gone, maybe since Redis was flushed; the next call makes it anew."""

    code = "index_unavailable"


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


class KindConflict(StoreError):
    """A directory, or a memory, stands where a document should be written; or a document where a memory should."""

    code = "kind_conflict"


class ReadOnly(StoreError):
    """Files there can be read, but not changed."""

    code = "read_only"


class ReviewConflict(StoreError):
    """What was reviewed isn't what waits or stands there now; look at it again, then decide."""

    code = "review_conflict"


class SessionConflict(StoreError):
    """A session holds other messages than those that it should be restored with; it stays as it is."""

    code = "session_conflict"


class EmbeddingsUnavailable(StoreError):
    """Fewer than two memories have a vector, so that nothing can be said about their likeness."""

    code = "embeddings_unavailable"


class CorruptRecord(StoreError):
    """A value under our keys isn't one that this package wrote."""

    code = "corrupt_record"


class NotFound(TieredMemoryError, LookupError):
    """Nothing with that id stands in that tier and scope, or nothing at that URI."""

    code = "not_found"


class FileNotFound(NotFound):
    """No file has that path."""

    code = "file_not_found"


class SessionNotFound(NotFound):
    """No session has that id."""

    code = "session_not_found"


class JobNotFound(NotFound):
    """No job with that id runs, or another worker has claimed it meanwhile."""

    code = "job_not_found"


class NoMemory(NotFound):
    """Nothing is remembered at that URI."""

    code = "no_memory"


class NoCandidate(NotFound):
    """Nothing waits for review at that id."""

    code = "no_candidate"


class MissingExtra(TieredMemoryError, ImportError):
    """An optional dependency isn't installed; the message names the pip command."""

    code = "missing_extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'tiered-memory[{extra}]'")
        self.extra = extra
