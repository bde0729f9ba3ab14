"""A model of the queue: one list of jobs in memory, looked through from its beginning by each call."""

from __future__ import annotations

from collections import Counter

from attrs import define, field

BACKOFF = (1, 2, 4, 8)
KEPT = {"done": 86_400, "failed": 30 * 86_400}


@define
class ModelJob:
    """A job; `moment` is when it is due, when its lease ends, or when it ended."""

    id: int
    scope: str | None
    kind: str
    uri: str | None
    moment: float
    status: str = "pending"
    attempts: int = 0
    claims: int = 0
    owner: int | None = None
    last_error: str | None = None


@define
class QueueModel:
    """All jobs, and the time, in seconds."""

    now: float = 0.0
    jobs: list[ModelJob] = field(factory=list)
    made: int = 0

    def enqueue(self, scope, kind, uri):
        self.made += 1
        self.jobs.append(ModelJob(self.made, scope, kind, uri, self.now))
        return self.made

    def claimable(self, scope, kinds):
        """The ids of which one may be claimed: the first of its scope, after what is due to time."""
        self.give_back(lambda job: job.moment <= self.now, "lease_expired")
        self.jobs = [job for job in self.jobs if job.status not in KEPT or job.moment > self.now - KEPT[job.status]]
        firsts: dict[str | None, ModelJob] = {}
        for job in sorted(self.jobs, key=lambda job: (job.moment, job.id)):
            due = job.status == "pending" and job.moment <= self.now and job.kind in kinds
            if due and scope in (None, job.scope):
                firsts.setdefault(job.scope, job)
        return [job.id for job in firsts.values()]

    def claim(self, id, owner, lease):
        job = self.job(id)
        job.status, job.moment, job.owner = "running", self.now + lease, owner
        job.attempts, job.claims = job.attempts + 1, job.claims + 1
        return job

    def give_back(self, gone, reason):
        """Lets running jobs wait again for which `gone` holds; how many."""
        back = [job for job in self.jobs if job.status == "running" and gone(job)]
        for job in back:
            self.end(job, reason, again=True, pause=0)
        return len(back)

    def recover(self, scope, owner):
        def within(job):
            return scope in (None, job.scope)

        lapsed = self.give_back(lambda job: within(job) and job.moment <= self.now, "lease_expired")
        return lapsed + self.give_back(lambda job: within(job) and job.owner == owner, "interrupted")

    def end(self, job, reason, *, again, pause):
        again = again and job.attempts < 5
        job.status, job.moment = ("pending", self.now + pause) if again else ("failed", self.now)
        job.last_error = reason

    def job(self, id, scope=None, claim=None):
        """The job with an id, within the reach of a scope, and under a claim."""
        for job in self.jobs:
            if job.id == id and scope in (None, job.scope) and claim in (None, job.claims):
                return job
        return None

    def renew(self, job, lease):
        running = job is not None and job.status == "running"
        if running:
            job.moment = self.now + lease
        return running

    def complete(self, job):
        if job is not None and job.status != "done":
            job.status, job.moment = "done", self.now
        return job is not None

    def fail(self, job, reason, again):
        if job is None or job.status != "running":
            return None
        self.end(job, reason, again=again, pause=(*BACKOFF, 0)[job.attempts - 1])
        return job.status

    def defer(self, job, delay):
        running = job is not None and job.status == "running"
        if running:
            job.status, job.moment, job.attempts = "pending", self.now + delay, job.attempts - 1
        return running

    def at(self, scope, uri):
        """The jobs of a scope at a URI or below it."""
        return [job for job in self.jobs if job.scope == scope and job.uri and f"{job.uri}/".startswith(f"{uri}/")]

    def cancel(self, scope, uri):
        gone = self.at(scope, uri)
        self.jobs = [job for job in self.jobs if job not in gone]
        return len(gone)

    def stats(self, scope):
        counted = Counter(job.status for job in self.jobs if scope in (None, job.scope))
        return {status: counted[status] for status in ("pending", "running", "done", "failed")}

    def oldest(self, scope):
        """For how many milliseconds the job that waits the longest could have been run."""
        due = [j.moment for j in self.jobs if j.status == "pending" and scope in (None, j.scope)]
        waiting = [self.now - moment for moment in due if moment <= self.now]
        return round(max(waiting) * 1000) if waiting else None
