-- with: jobs, jobs_work
-- Completes a job: ARGV is now, the token of the scope ('' for all), its number, the claim ('' for any).
-- Answers 1, or 0 when there is no such job.
local now, token, number = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local job = within_reach(number, token, ARGV[4])
if not job then return 0 end
return change_job(job, now, function(queue) return complete_job(queue, number, now) end)
