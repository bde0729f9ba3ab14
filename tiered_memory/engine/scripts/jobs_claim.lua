-- with: jobs, jobs_work
-- Claims the next job: ARGV is now, when the lease ends, who claims, the token of the scope ('' for all), the kinds.
-- Answers the number and the fields of the job, or nothing.
local now, ends, owner, token = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local kinds = { unpack(ARGV, 5) }

-- The scope whose turn it is, or nil.
local function next_scope()
  local chosen, lowest
  for _, kind in ipairs(kinds) do
    local due_by_now = redis.call('ZRANGE', later_key(kind), '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, 100)
    for _, each in ipairs(due_by_now) do place_scope(each, kind, now) end
    local first = redis.call('ZRANGE', ready_key(kind), 0, 0, 'WITHSCORES')
    local turn = tonumber(first[2])
    if turn and (not lowest or turn < lowest) then chosen, lowest = first[1], turn end
  end
  return chosen
end

-- The number of the job of a scope that has been due the longest, or nil.
local function next_job(from)
  local chosen, earliest
  for _, kind in ipairs(kinds) do
    local first, due_at = first_due(from, kind)
    if first and due_at <= now and (not earliest or due_at < earliest or due_at == earliest and first < chosen) then
      chosen, earliest = first, due_at
    end
  end
  return chosen and unpadded(chosen)
end

local function claim(queue, job)
  move_job(queue, job, 'running', ends, 'attempts', job.attempts + 1, 'claims', job.claims + 1, 'owner', owner,
    'claimed_at', now)
  local turn = redis.call('INCR', job_turns)
  for _, kind in ipairs(kinds) do redis.call('ZADD', ready_key(kind), 'XX', turn, queue.token) end
  return { tonumber(job.number), redis.call('HGETALL', job_key(job.number)) }
end

local wrong = give_back_lapsed(now, 100) or drop_old(now, 10)
if wrong then return wrong end
-- a scope whose first job isn't due after all, since clocks differ, goes to the later ones
for _ = 1, 100 do
  local from = token ~= '' and token or next_scope()
  if not from then return nil end
  local number = next_job(from)
  local job = number and read_job(number)
  if job then return change_job(job, now, claim) end
  if number then return redis.error_reply('CORRUPT a job is gone from the store') end
  for _, kind in ipairs(kinds) do place_scope(from, kind, now) end
  if token ~= '' then return nil end
end
return nil
