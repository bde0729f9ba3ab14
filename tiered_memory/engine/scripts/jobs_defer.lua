-- with: jobs, jobs_work
-- Puts a running job back, free of charge: ARGV is now, the token of the scope ('' for all), its number, the claim ('' for
-- any), when it is due. Answers 1, or 0 when no such job runs.
local now = tonumber(ARGV[1])
local job = within_reach(ARGV[3], ARGV[2], ARGV[4])
if not job or job.status ~= 'running' then return 0 end
return change_job(job, now, function(queue)
  move_job(queue, job, 'pending', ARGV[5], 'attempts', math.max(job.attempts - 1, 0))
  return 1
end)
