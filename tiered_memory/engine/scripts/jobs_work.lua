-- What workers do with jobs of their scope, or of all.

-- The job with a number, if it is within reach, and claimed for the time that is meant ('' for any).
local function within_reach(number, token, claim)
  local job = read_job(number)
  if job and (token == '' or token == job.token) and (claim == '' or claim == job.claims) then return job end
end

-- Changes one job by a function of its queue and the job, once its keys were looked at; passes on the answer.
local function change_job(job, now, change)
  local queue = queue_of(job.scope, job.token)
  local wrong = wrong_jobs(queue)
  if wrong then return wrong end
  local answer = change(queue, job)
  settle_jobs(queue, now)
  return answer
end

-- Returns a running job to the queue, whose worker is gone: its attempt counts.
local function give_back(job, now, reason)
  return change_job(job, now, function(queue) return fail_job(queue, job, now, reason, true, 0) end)
end

-- Returns up to `most` jobs whose lease has run out; answers an error, or nil.
local function give_back_lapsed(now, most)
  local lapsed = redis.call('ZRANGE', times_key('running'), '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, most)
  for _, member in ipairs(lapsed) do
    local job = read_job(unpadded(member))
    local answer = job and give_back(job, now, 'lease_expired')
    if type(answer) == 'table' then return answer end
    if not job then redis.call('ZREM', times_key('running'), member) end
  end
end

-- Forgets up to `most` jobs of each status that ended long ago; answers an error, or nil.
local function drop_old(now, most)
  for status, kept in pairs(KEPT) do
    local before = string.format('%.0f', now - kept)
    for _, member in ipairs(redis.call('ZRANGE', times_key(status), '-inf', before, 'BYSCORE', 'LIMIT', 0, most)) do
      local job = read_job(unpadded(member))
      local answer = job and change_job(job, now, drop_job)
      if answer then return answer end
      if not job then redis.call('ZREM', times_key(status), member) end
    end
  end
end
