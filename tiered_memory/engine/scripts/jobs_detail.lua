#!lua flags=no-writes
-- with: jobs
-- Says how far behind the queue is, and what went wrong: ARGV is now, the token of the scope ('' for all), how many.
-- Answers when the first job was due ('' when none is), and number and fields of the jobs that failed last.
local now, token, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local earliest
local function note(due_at)
  if due_at and due_at <= now and (not earliest or due_at < earliest) then earliest = due_at end
end
if token == '' then
  note(tonumber(redis.call('ZRANGE', times_key('pending'), 0, 0, 'WITHSCORES')[2]))
else
  for _, kind in ipairs(redis.call('HKEYS', key('job_kinds', token))) do note(select(2, first_due(token, kind))) end
end
local failed = {}
for place, member in ipairs(redis.call('ZRANGE', token == '' and times_key('failed') or key('job_failed', token), 0, most - 1, 'REV')) do
  failed[place] = { tonumber(member), redis.call('HGETALL', job_key(unpadded(member))) }
end
return { earliest and string.format('%.0f', earliest) or '', failed }
