-- with: jobs, jobs_work
-- Extends leases: ARGV is when they end, the token of the scope ('' for all), then number and claim ('' for any) of
-- each job. Answers 1 for each that still runs, else 0.
local ends, token, renewed = ARGV[1], ARGV[2], {}
local wrong = wrong_among({ [times_key('running')] = 'zset' })
if wrong then return wrong end
for at = 3, #ARGV, 2 do
  local job = within_reach(ARGV[at], token, ARGV[at + 1])
  renewed[#renewed + 1] = job and job.status == 'running' and job or false
end
for place, job in ipairs(renewed) do
  if job then redis.call('ZADD', times_key('running'), ends, padded(job.number)) end
  renewed[place] = job and 1 or 0
end
return renewed
