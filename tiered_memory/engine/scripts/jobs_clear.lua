#!lua flags=allow-oom
-- with: jobs
-- Drops the jobs of a scope: ARGV is the scope as a member, the token of its store, and how many at the most.
-- Answers 1 when there may be more.
local queue, most, dropped = read_queue(1), tonumber(ARGV[3]), 0
local wrong = wrong_jobs(queue)
if wrong then return wrong end
for _, status in ipairs(job_statuses) do
  dropped = dropped + drop_jobs(queue, jobs_between(queue, status, '-', '+', most - dropped))
end
settle_jobs(queue, 0)
return dropped == most and 1 or 0
