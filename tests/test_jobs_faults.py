"""What goes wrong around the queue: keys that aren't as we wrote them, no memory left, and how much is sent."""

from __future__ import annotations

import pytest
from redis import Redis
from servers import redis_server
from shorthand import frozen
from stores import store_of

from tiered_memory import CorruptRecord, StoreUnavailable

U = "viking://resources"

CALLS = {
    "enqueue": lambda store, job: store.jobs.enqueue("work", {"uri": f"{U}/x"}),
    "claim": lambda store, job: store.jobs.claim("work"),
    "renew": lambda store, job: store.jobs.renew(job),
    "complete": lambda store, job: store.jobs.complete(job),
    "fail": lambda store, job: store.jobs.fail(job),
    "fail for good": lambda store, job: store.jobs.fail(job, again=False),
    "defer": lambda store, job: store.jobs.defer(job, 5),
    "recover": lambda store, job: store.jobs.recover(),
    "cancel": lambda store, job: store.jobs.cancel(U),
    "put": lambda store, job: store.documents.put(f"{U}/x", "text", jobs=[("work", {}), ("work", {})]),
    "remove": lambda store, job: store.documents.remove(U),
    "layer": lambda store, job: store.layers.store(job.id, f"{U}/x", "abstract", "one"),
}
"""Every call that writes jobs."""

PLANTED = ["list", "text", "junk"]
"""A key of a type that none of ours has, one of type string, and a hash's values or a string that are no numbers."""


SHARED = {
    "list": {"holding", "job", "job_due", "job_kinds", "job_ready", "job_sequence", "job_times", "job_turns", "jobs"},
    "text": {"holding", "job", "job_due", "job_kinds", "job_ready", "job_times", "job_turns", "jobs"},
    "junk": {"holding", "job", "job_kinds", "job_sequence", "job_turns"},
}
"""The kinds of keys at which a call must meet what is foreign."""

EXPECTED = {
    "renew": {"list": {"job", "job_times"}, "text": {"job", "job_times"}, "junk": {"job"}},
    "enqueue": {planted: kinds - {"job"} for planted, kinds in SHARED.items()},
    "put": {planted: {"nodes", *kinds} - {"job"} for planted, kinds in SHARED.items()},
}
"""Likewise for calls that are different."""


def contents(client, namespace):
    """Every key of a namespace with what it holds; of a hash its fields, since they may be dumped in any order."""
    keys = list(client.scan_iter(f"{{{namespace}:*", count=10_000))
    with client.pipeline(transaction=False) as pipeline:
        for key, kind in zip(keys, _each(client, "type", keys), strict=True):
            pipeline.hgetall(key) if kind == b"hash" else pipeline.dump(key)
        return dict(zip(keys, pipeline.execute(), strict=True))


def _each(client, command, keys):
    """What a command answers for each key."""
    with client.pipeline(transaction=False) as pipeline:
        for key in keys:
            getattr(pipeline, command)(key)
        return pipeline.execute()


def filled(mem):
    """A store with documents and jobs in every state; and a job of the first document that is claimed."""
    store = store_of(mem)
    for name in "xy":
        store.documents.put(f"{U}/{name}", "text", jobs=[("work", {}), ("other", {})])
    for uri in ("x", "y", "z", "z"):
        store.jobs.enqueue("end", {"uri": f"{U}/{uri}"})
    store.jobs.complete(store.jobs.claim("end"))
    store.jobs.fail(store.jobs.claim("end"), again=False)
    store.jobs.defer(store.jobs.claim("end"), 60_000)
    return store, store.jobs.claim("work")


def plant(client, key, planted):
    """Puts something foreign at a key."""
    if planted != "junk":
        client.delete(key)
        client.rpush(key, "foreign") if planted == "list" else client.set(key, "foreign")
    elif client.type(key) == b"hash":
        client.hset(key, mapping=dict.fromkeys(client.hkeys(key), "x.y"))
    elif client.type(key) == b"string":
        client.set(key, "x.y")


def put_back(client, namespace, sound):
    """Makes the keys of a namespace what they were."""
    with client.pipeline(transaction=False) as pipeline:
        pipeline.delete(*client.scan_iter(f"{{{namespace}:*", count=10_000))
        for key, value in sound.items():
            pipeline.restore(key, 0, value)
        pipeline.execute()


class TestForeignKeys:
    @pytest.mark.parametrize("mode", ["blocking"])
    @pytest.mark.parametrize("planted", PLANTED)
    @pytest.mark.parametrize("call", CALLS)
    def test_nothing_half_done(self, mem, client, namespace, call, planted):
        """Wherever something foreign stands, a call that meets it is refused, and leaves everything as it was."""
        refused = set()
        with frozen():
            store, job = filled(mem)
            keys = list(contents(client, namespace))
            sound = dict(zip(keys, _each(client, "dump", keys), strict=True))
            for key in sorted(each for each in sound if not each.endswith(b":meta")):
                plant(client, key, planted)
                before = contents(client, namespace)
                try:
                    CALLS[call](store, job)
                except CorruptRecord:
                    refused.add(key.split(b":")[2].decode())
                    assert contents(client, namespace) == before, key
                put_back(client, namespace, sound)
        assert EXPECTED.get(call, SHARED)[planted] <= refused

    def test_reads(self, mem, client, namespace):
        """A read of something foreign is refused."""
        store, _ = filled(mem)
        for key in contents(client, namespace):
            if key.endswith(b":failed") or key.endswith(b":pending"):
                plant(client, key, "list")
        for read in (
            store.jobs.stats,
            store.jobs.detail,
            lambda: store.jobs.count(U),
            lambda: store.jobs.claim("work"),
        ):
            with pytest.raises(CorruptRecord):
                read()


class TestFull:
    def test_nothing_half_done(self, open_memory, namespace):
        """When Redis has no memory left, what needs some says so and leaves all as it was; cancelling is possible."""
        with redis_server() as url, Redis.from_url(url) as client, frozen():
            store, job = filled(open_memory(url=url))
            before = contents(client, namespace)
            client.config_set("maxmemory", "1mb")
            for name in sorted(CALLS.keys() - {"cancel", "remove"}):
                with pytest.raises(StoreUnavailable, match="out of memory"):
                    CALLS[name](store, job)
                assert contents(client, namespace) == before, name
            assert store.jobs.cancel(U) == 8
            client.config_set("maxmemory", "0")
            assert store.jobs.enqueue("work") > job.id


class TestRoundTrips:
    @pytest.mark.parametrize("call", sorted(CALLS))
    def test_one(self, mem, client, call):
        """Each call is one round trip: one script, whatever it writes."""
        CALLS[call](*filled(mem.scoped("before")))  # now the server knows the script
        store, job = filled(mem)
        with client.monitor() as monitor:
            CALLS[call](store, job)
            client.ping()
            sent = list(_until_ping(monitor))
        assert [name for name in sent if name not in ("HELLO", "CLIENT")] == ["EVALSHA"]


def _until_ping(monitor):
    """The names of the commands that clients sent, without those of scripts."""
    for each in monitor.listen():
        if each["command"].upper() == "PING":
            return
        if each["client_type"] != "lua":
            yield each["command"].split()[0]
