-- with: jobs, jobs_work
-- Returns running jobs to the queue whose lease has run out, or that `owner` claimed: ARGV is now, the token of the
-- scope ('' for all), the owner. Answers how many.
local now, token, owner = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local wrong = wrong_queue(queue_of('', token), {}, {})
if wrong then return wrong end
local running = redis.call('ZRANGE', times_key('running'), 0, -1, 'WITHSCORES')
local left = {}
for at = 1, #running, 2 do
  local job = within_reach(unpadded(running[at]), token, '')
  if job then
    job.lapsed = tonumber(running[at + 1]) <= now
    if job.lapsed or job.owner == owner then left[#left + 1] = job end
  end
end
for _, job in ipairs(left) do
  local answer = give_back(job, now, job.lapsed and 'lease_expired' or 'interrupted')
  if type(answer) == 'table' then return answer end
end
return #left
