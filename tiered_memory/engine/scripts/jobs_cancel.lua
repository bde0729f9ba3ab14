#!lua flags=allow-oom
-- with: jobs
-- Drops jobs of a URI or below it: ARGV is now, the queue's address, the URI, how many at the most.
-- Answers how many were dropped.
local now, queue = tonumber(ARGV[1]), read_queue(2)
local wrong = wrong_jobs(queue)
if wrong then return wrong end
local dropped = cancel_jobs(queue, ARGV[4], tonumber(ARGV[5]))
settle_jobs(queue, now)
return dropped
