"""How a namespace lies in Redis: partitions, and the keys of one scope.

    {namespace:p}:scopes          sorted set   the scopes of partition p that hold something
    {namespace:p}:holding         hash         how many active and waiting memories and files each of these has
    {namespace:p}:sequence        integer      numbers the partition's records in the order of their making
    {namespace:p}:counts          hash         how many memories, by tier and status
    {namespace:p}:due             sorted set   tiers that hold something which expires, by the time of the first
    {namespace:p}:record:N        hash         one memory of a tier that is searched; the index is over these
    {namespace:p}:slots:TOKEN     hash         digest of an id → numbers of its records, the active one first; or a note
    {namespace:p}:order:TOKEN     sorted set   digests of ids, by when something was first remembered there
    {namespace:p}:expiry:TOKEN    sorted set   digests of ids that expire, by time
    {namespace:p}:retention:TOKEN sorted set   digests of ids, by how well they are worth keeping
    {namespace:p}:surfaced:TOKEN  hash         digest of an id → how often recalls have shown it
    {namespace:p}:surfaced_at:TOKEN  hash      digest of an id → when one last did
    {namespace:p}:waiting:TOKEN   sorted set   number:digest of the records that wait for review, by number
    {namespace:p}:lapsing:TOKEN   sorted set   those of them that expire, by time
    {namespace:p}:claims:TOKEN    hash         digest of an id → numbers of the records that wait there, newest first
    {namespace:p}:tally:TOKEN     hash         how many memories, by status
    {namespace:p}:settled:TOKEN   set          pairs of records that are much alike, and shall be
    {namespace:p}:views:TOKEN     hash         digest of an id that is a URI → what its document shows
    {namespace:p}:woven:TOKEN     hash         digest of an id whose memories have facts → the id
    {namespace:p}:paths:TOKEN     sorted set   paths of a scope's files, in the order of their bytes
    {namespace:p}:file:TOKEN:PATH hash         one file
    {namespace:p}:facts:TOKEN     hash         fact (a memory's id, # and a number) → its times and its entities
    {namespace:p}:sentences:TOKEN hash         fact that no record states → its text
    {namespace:p}:recorded:TOKEN  sorted set   facts, the newest first, ended ones last
    {namespace:p}:chains:TOKEN    hash         memory's id → numbers of its facts that no record states, newest first
    {namespace:p}:entities:TOKEN  hash         entity → how many facts mention it
    {namespace:p}:mentions:TOKEN:ENTITY sorted set  the facts that mention it, likewise
    {namespace:p}:sessions:TOKEN  sorted set   ids of a scope's sessions, in the order of their bytes
    {namespace:p}:session:TOKEN:ID list        the messages of one session, packed
    {namespace:p}:commits:TOKEN   sorted set   which session was committed where, with the hash of what it said
    {namespace:p}:documents:TOKEN sorted set   URIs of the documents of a scope's tree, in the order of their bytes
    {namespace:p}:directories:TOKEN  sorted set  URIs of its directories, the root's included
    {namespace:p}:enabled:TOKEN   sorted set   URIs of the documents that neither they nor a directory above switch off
    {namespace:p}:marked:TOKEN    sorted set   URIs that are switched off themselves, or have a group of their own
    {namespace:p}:nodes:TOKEN     hash         URI → what stands there: the number of a document's record, marks; packed
    {namespace:p}:memories:TOKEN  hash         how many memories a tree shows, by type and status
    {namespace:p}:job:N           hash         one job
    {namespace:p}:job_sequence    integer      numbers the partition's jobs in the order of their making
    {namespace:p}:job_times:STATUS  sorted set numbers of the jobs of a status, by when: due, the lease's end, ended
    {namespace:p}:job_kinds       hash         how many jobs, by kind; likewise job_kinds:TOKEN of a scope
    {namespace:p}:job_ready:KIND  sorted set   scopes that have such a job which is due, by their turn
    {namespace:p}:job_later:KIND  sorted set   scopes whose first such job is due later, by when
    {namespace:p}:job_turns       integer      numbers the turns of the scopes
    {namespace:p}:jobs:TOKEN:STATUS  sorted set  URI and number of a scope's jobs, in the order of their bytes
    {namespace:p}:job_due:TOKEN:KIND sorted set  numbers of its pending jobs of a kind, by when they are due
    {namespace:p}:job_failed:TOKEN  sorted set numbers of its failed jobs, by when they failed
    {namespace:0}:meta            hash         layout, partitions, embedder, dimensions, type of numbers
    {namespace:p}:meta            hash         the vector field in force, once `reembed` has moved the namespace

TOKEN is the digest of scope and tier, or of scope and "files", "graph" or "tree". All keys of a partition carry its
hash tag, its index's name included, so that on a cluster a command reaches one shard and a script stays inside one
slot. A script is given the key of the scopes, which routes it, and makes the others from that.
"""

from __future__ import annotations

from functools import lru_cache

from attrs import frozen

from tiered_memory import ranking
from tiered_memory.scope import digest

KINDS = (
    "slots", "order", "expiry", "retention", "surfaced", "surfaced_at", "waiting", "lapsing", "claims", "tally",
    "settled", "views", "woven",
)  # fmt: skip
"""The kinds of keys that a scope may have for each tier."""


TREE_KINDS = ("documents", "directories", "enabled", "marked", "nodes")
"""The kinds of keys that a scope has for its tree."""

GRAPH_KINDS = ("facts", "sentences", "recorded", "chains", "entities")
"""The kinds of keys that a scope has for its graph, but for those of single entities."""

STORE_KINDS = ("sessions", "commits", "memories", *TREE_KINDS)
"""The kinds of keys that a scope has for its context store."""


@frozen
class ScopeKeys:
    """What addresses one scope of a namespace."""

    scope: str | None
    raw: bytes | None
    """The scope as it stands in records."""
    scopes: str
    """The key of the partition's scopes."""
    index: str
    """The name by which the partition's index is searched."""
    partition: int
    """The number of the partition."""
    partitions: int
    """How many there are."""

    def token(self, tier: str) -> str:
        """What marks this scope's rows of `tier`."""
        return _token(self.scope, tier)

    def key(self, kind: str, tier: str) -> str:
        """One of the keys that this scope has for `tier`."""
        return f"{self.scopes.removesuffix('scopes')}{kind}:{self.token(tier)}"

    def all(self, tier: str) -> list[str]:
        """All keys that this scope may have for `tier`, beside its records."""
        return [self.key(kind, tier) for kind in KINDS]

    def record(self, number: str) -> str:
        """The key of the record of this number in this scope's partition."""
        return f"{self.scopes.removesuffix('scopes')}record:{number}"

    @property
    def files(self) -> str:
        """The key of the paths of this scope's files."""
        return self.key("paths", "files")

    def file(self, path: str) -> str:
        """The key of the file that has this path."""
        return f"{self.key('file', 'files')}:{path}"

    @property
    def beside(self) -> list[str]:
        """The keys that say whether this scope holds anything beside its memories."""
        return [self.files, *(self.key(kind, "tree") for kind in STORE_KINDS), *self.jobs, *self.graph]

    @property
    def graph(self) -> list[str]:
        """The keys of this scope's graph, but for those of its entities, which are gone when there is no fact."""
        return [self.key(kind, "graph") for kind in GRAPH_KINDS]

    def mentions(self, entity: str) -> str:
        """The key of the facts that mention this entity."""
        return f"{self.key('mentions', 'graph')}:{entity}"

    @property
    def jobs(self) -> list[str]:
        """The keys of this scope's jobs, but for those that a kind of job has, which are gone when there is none."""
        by_status = [f"{self.key('jobs', 'tree')}:{status}" for status in ("pending", "running", "done", "failed")]
        return [*by_status, self.key("job_kinds", "tree"), self.key("job_failed", "tree")]

    @property
    def member(self) -> str:
        """The scope as it stands among the partition's scopes."""
        return encode_scope(self.scope)


@frozen
class Keyspace:
    """The keys of a namespace that is spread over a number of partitions."""

    namespace: str
    partitions: int
    vector: str
    """The name of the vector field of the embedder in use."""
    numbers: str = "<f4"
    """The type of the numbers that vectors are made of, as numpy names it."""

    @property
    def tolerance(self) -> float:
        """How far a cosine may be off."""
        return ranking.TOLERANCE if self.numbers == "<f4" else ranking.HALF_TOLERANCE

    @property
    def meta(self) -> str:
        """The key of what is fixed about the namespace."""
        return f"{self._tag(0)}:meta"

    def index(self, partition: int) -> str:
        """The name of a partition's index."""
        return f"{self._tag(partition)}:index"

    def searched(self, partition: int, vector: str | None = None) -> str:
        """The name by which whoever uses a vector field (None: the one in use) searches a partition's index.

        It is gone once another embedder is in force, so that a process which still has the old one is refused.
        """
        return f"{self._tag(partition)}:{vector or self.vector}"

    def records(self, partition: int) -> str:
        """What the keys of a partition's records begin with."""
        return f"{self._tag(partition)}:record:"

    def sequence(self, partition: int) -> str:
        """The key of the number that a partition's newest record has."""
        return f"{self._tag(partition)}:sequence"

    def scopes(self, partition: int) -> str:
        """The key of a partition's scopes."""
        return f"{self._tag(partition)}:scopes"

    def counts(self, partition: int) -> str:
        """The key of a partition's counts."""
        return f"{self._tag(partition)}:counts"

    def of(self, scope: str | None) -> ScopeKeys:
        """The keys of `scope`, in the one partition that it belongs to."""
        partition = 0 if self.partitions == 1 else int(_token(scope, None), 16) % self.partitions
        raw = None if scope is None else scope.encode()
        return ScopeKeys(scope, raw, self.scopes(partition), self.searched(partition), partition, self.partitions)

    def _tag(self, partition: int) -> str:
        return f"{{{self.namespace}:{partition}}}"


@lru_cache(maxsize=4096)
def _token(scope: str | None, tier: str | None) -> str:
    return digest(scope, tier)


def encode_scope(scope: str | None) -> str:
    """A scope as one text, the unscoped pool included."""
    return "-" if scope is None else f"+{scope}"


def decode_scope(member: str) -> str | None:
    """The scope that `encode_scope` made `member` from."""
    return None if member == "-" else member[1:]


def vector_field(embedder: str, vectors: str = "float32") -> str:
    """The name of the vector field that holds what the embedder with this id wrote, in numbers of this type."""
    return f"vector_{(digest(embedder) if vectors == 'float32' else digest(embedder, vectors))[:12]}"
