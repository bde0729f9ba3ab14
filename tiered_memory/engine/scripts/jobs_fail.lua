-- with: jobs, jobs_work
-- Fails a running job: ARGV is now, the token of the scope ('' for all), its number, the claim ('' for any), the reason,
-- and 'again' if it shall be tried again. Answers its status, or '' when no such job runs.
local now = tonumber(ARGV[1])
local job = within_reach(ARGV[3], ARGV[2], ARGV[4])
if not job or job.status ~= 'running' then return '' end
return change_job(job, now, function(queue)
  return fail_job(queue, job, now, ARGV[5], ARGV[6] == 'again', backoff(tonumber(job.attempts)))
end)
