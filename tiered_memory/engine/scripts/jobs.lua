-- How jobs lie. Each is a hash; its number is found by its status and a time (when it is due, when its lease ends, when
-- it ended) in the partition, by its status and URI in its scope, and while it is pending by when it is due among those
-- of its kind and scope. Workers of all scopes serve these in turns: 'job_ready' has, for a kind, the scopes that have a
-- job which is due, by their turn, and 'job_later' the others, by when their first one is due.
local MAX_ATTEMPTS, SECOND, MAX_PAUSE = 5, 1000000, 300
local KEPT = { done = 86400 * SECOND, failed = 30 * 86400 * SECOND }
local KNOWN = { pending = true, running = true, done = true, failed = true }
local job_statuses = { 'pending', 'running', 'done', 'failed' }
local job_fields = { 'kind', 'uri', 'content_hash', 'status', 'attempts', 'claims', 'owner', 'token', 'scope' }
local job_kinds, job_sequence, job_turns = prefix .. 'job_kinds', prefix .. 'job_sequence', prefix .. 'job_turns'

-- After which outcomes a memory makes work: when it says something new.
local is_news = { recorded = true, superseded = true, queued = true }

local function job_key(number) return prefix .. 'job:' .. number end

local function times_key(status) return prefix .. 'job_times:' .. status end

local function status_key(token, status) return key('jobs', token) .. ':' .. status end

local function ready_key(kind) return prefix .. 'job_ready:' .. kind end

local function later_key(kind) return prefix .. 'job_later:' .. kind end

local function due_key(token, kind) return key('job_due', token) .. ':' .. kind end

-- Members that have the same time are in the order of their bytes: numbers in that of their making.
local function padded(number) return string.format('%016d', number) end

local function unpadded(member) return string.format('%d', member) end

local function uri_member(job) return job.uri .. '\0' .. job.number end

-- The jobs of a scope, as what a script works with: which kinds it touched, and how many jobs came and went.
local function queue_of(member, token) return { member = member, token = token, touched = {}, held = 0 } end

local function read_queue(at) return queue_of(ARGV[at], ARGV[at + 1]) end

-- Jobs to enqueue: their number, then kind, payload, URI and content hash of each. Answers them, and the next place.
local function read_jobs(at)
  local jobs, after = {}, at + 1 + 4 * tonumber(ARGV[at])
  for each = at + 1, after - 1, 4 do
    jobs[#jobs + 1] =
      { kind = ARGV[each], payload = ARGV[each + 1], uri = ARGV[each + 2], content_hash = ARGV[each + 3] }
  end
  return jobs, after
end

local function wrong_among(wanted)
  for name, kind in pairs(wanted) do
    local found = redis.call('TYPE', name).ok
    if found ~= 'none' and found ~= kind then
      return redis.error_reply('CORRUPT a key of the jobs is a ' .. found .. ', not a ' .. kind)
    end
  end
end

-- Looks at the numbers that a script may count up or down.
local function wrong_numbers(queue)
  local numbers = { redis.call('GET', job_sequence) or 0, redis.call('GET', job_turns) or 0 }
  numbers[3] = redis.call('HGET', holding, queue.member) or 0
  for _, counts in ipairs({ job_kinds, key('job_kinds', queue.token) }) do
    for _, number in ipairs(redis.call('HVALS', counts)) do numbers[#numbers + 1] = number end
  end
  for _, number in ipairs(numbers) do
    if not string.match(number, '^%d+$') then return redis.error_reply('CORRUPT a number of jobs is not as we wrote it') end
  end
end

-- Looks at every key that a script may write which changes jobs of a scope, those of `kinds` and all that it has; and
-- at others that are `wanted`.
local function wrong_queue(queue, kinds, wanted)
  local own_kinds = key('job_kinds', queue.token)
  wanted[job_kinds], wanted[job_sequence], wanted[job_turns], wanted[own_kinds] = 'hash', 'string', 'string', 'hash'
  local wrong = wrong_among(wanted) or wrong_shared_type() or wrong_numbers(queue)
  if wrong then return wrong end
  wanted = { [key('job_failed', queue.token)] = 'zset' }
  for _, status in ipairs(job_statuses) do
    wanted[times_key(status)], wanted[status_key(queue.token, status)] = 'zset', 'zset'
  end
  for _, list in ipairs({ kinds, redis.call('HKEYS', own_kinds) }) do
    for _, kind in ipairs(list) do
      for _, name in ipairs({ ready_key(kind), later_key(kind), due_key(queue.token, kind) }) do wanted[name] = 'zset' end
    end
  end
  return wrong_among(wanted)
end

-- The same for a script that may enqueue `jobs`, too.
local function wrong_jobs(queue, jobs)
  local wrong = wrong_among({ [job_sequence] = 'string' })
  if wrong then return wrong end
  local kinds, wanted, made = {}, {}, tonumber(redis.call('GET', job_sequence) or 0) or 0
  for place, job in ipairs(jobs or {}) do
    kinds[place], wanted[job_key(string.format('%d', made + place))] = job.kind, 'hash'
  end
  return wrong_queue(queue, kinds, wanted)
end

-- The job with a number, or nil.
local function read_job(number)
  local values = redis.call('HMGET', job_key(number), unpack(job_fields))
  if not values[1] then return nil end
  local job = { number = number }
  for place, name in ipairs(job_fields) do job[name] = values[place] or '' end
  local ours = KNOWN[job.status] and string.match(job.attempts, '^%d+$') and string.match(job.claims, '^%d+$')
  if not ours then error({ err = 'CORRUPT a job is not as we wrote it' }) end
  return job
end

-- The same, if it is one of this scope.
local function job_at(queue, number)
  local job = read_job(number)
  return job and job.token == queue.token and job or nil
end

local function take_out(queue, job)
  redis.call('ZREM', status_key(queue.token, job.status), uri_member(job))
  redis.call('ZREM', times_key(job.status), padded(job.number))
  if job.status == 'failed' then redis.call('ZREM', key('job_failed', queue.token), padded(job.number)) end
  if job.status == 'pending' and job.kind then
    redis.call('ZREM', due_key(queue.token, job.kind), padded(job.number))
    queue.touched[job.kind] = true
  end
end

local function put_in(queue, job, status, moment)
  job.status = status
  redis.call('ZADD', status_key(queue.token, status), 0, uri_member(job))
  redis.call('ZADD', times_key(status), moment, padded(job.number))
  if status == 'failed' then redis.call('ZADD', key('job_failed', queue.token), moment, padded(job.number)) end
  if status == 'pending' then
    redis.call('ZADD', due_key(queue.token, job.kind), moment, padded(job.number))
    queue.touched[job.kind] = true
  end
end

-- Moves a job to a status, from which it goes on at `moment`; further fields of it may be given.
local function move_job(queue, job, status, moment, ...)
  take_out(queue, job)
  put_in(queue, job, status, moment)
  redis.call('HSET', job_key(job.number), 'status', status, 'moment', moment, ...)
end

local function count_job(queue, kind, change)
  queue.held = queue.held + change
  for _, counted in ipairs({ job_kinds, key('job_kinds', queue.token) }) do
    if kind and redis.call('HINCRBY', counted, kind, change) <= 0 then redis.call('HDEL', counted, kind) end
  end
end

local function enqueue(queue, job, now)
  job.number = string.format('%d', redis.call('INCR', job_sequence))
  redis.call('HSET', job_key(job.number), 'kind', job.kind, 'payload', job.payload, 'uri', job.uri, 'content_hash',
    job.content_hash, 'scope', queue.member, 'token', queue.token, 'attempts', 0, 'claims', 0, 'queued_at', now,
    'status', 'pending', 'moment', now)
  put_in(queue, job, 'pending', now)
  count_job(queue, job.kind, 1)
  return job.number
end

local function drop_job(queue, job)
  take_out(queue, job)
  redis.call('UNLINK', job_key(job.number))
  count_job(queue, job.kind, -1)
end

local function complete_job(queue, number, now)
  local job = job_at(queue, number)
  if job and job.status ~= 'done' then move_job(queue, job, 'done', now) end
  return job and 1 or 0
end

-- Puts a job back for another attempt after a pause, or ends it when it has none left, or shall have none.
local function fail_job(queue, job, now, reason, again, pause)
  local left = again and tonumber(job.attempts) < MAX_ATTEMPTS
  move_job(queue, job, left and 'pending' or 'failed', left and now + pause or now, 'last_error', reason)
  return job.status
end

-- The pause after so many attempts, in microseconds: 1, 2, 4, 8 s and so on.
local function backoff(attempts) return math.min(2 ^ (attempts - 1), MAX_PAUSE) * SECOND end

-- From where to where the members of a URI lie, and those of what is below it. '0' is the character after the slash.
local function uri_ranges(uri)
  if string.sub(uri, -1) == '/' then return { { '[' .. uri, '(' .. string.sub(uri, 1, -2) .. '0' } } end
  return { { '[' .. uri .. '\0', '(' .. uri .. '\1' }, { '[' .. uri .. '/', '(' .. uri .. '0' } }
end

-- Up to `most` jobs (-1: all) of a status, from one member to another; one whose hash is gone has no kind.
local function jobs_between(queue, status, first, last, most)
  local jobs = {}
  local members = redis.call('ZRANGE', status_key(queue.token, status), first, last, 'BYLEX', 'LIMIT', 0, most)
  for place, member in ipairs(members) do
    local uri, number = string.match(member, '^(%Z*)%z(%d+)$')
    jobs[place] = read_job(number) or { number = number, uri = uri, status = status }
  end
  return jobs
end

-- Up to `most` jobs (-1: all) of a URI or below it, whatever their status.
local function jobs_of_uri(queue, uri, most)
  local jobs = {}
  for _, status in ipairs(job_statuses) do
    for _, range in ipairs(uri_ranges(uri)) do
      local left = most < 0 and most or most - #jobs
      for _, job in ipairs(jobs_between(queue, status, range[1], range[2], left)) do jobs[#jobs + 1] = job end
    end
  end
  return jobs
end

local function drop_jobs(queue, jobs)
  for _, job in ipairs(jobs) do drop_job(queue, job) end
  return #jobs
end

-- Drops up to `most` jobs (-1: all) of a URI or below it, whatever their status; answers how many.
local function cancel_jobs(queue, uri, most) return drop_jobs(queue, jobs_of_uri(queue, uri, most)) end

-- The first job of a kind in a scope: its number and when it is due, or nil.
local function first_due(token, kind)
  local found = redis.call('ZRANGE', due_key(token, kind), 0, 0, 'WITHSCORES')
  return found[1], tonumber(found[2])
end

-- Puts a scope among those that are ready for a kind, at the end of the turn, or among the later ones, or in neither.
local function place_scope(token, kind, now)
  local ready, later = ready_key(kind), later_key(kind)
  local first, due_at = first_due(token, kind)
  if first and due_at <= now then
    if not redis.call('ZSCORE', ready, token) then redis.call('ZADD', ready, redis.call('INCR', job_turns), token) end
    redis.call('ZREM', later, token)
  else
    redis.call('ZREM', ready, token)
    if first then redis.call('ZADD', later, due_at, token) else redis.call('ZREM', later, token) end
  end
end

-- What each script must do in the end that changed jobs of a scope.
local function settle_jobs(queue, now)
  for kind in pairs(queue.touched) do place_scope(queue.token, kind, now) end
  if queue.held ~= 0 then hold(queue.member, queue.held) end
  queue.touched, queue.held = {}, 0
end
