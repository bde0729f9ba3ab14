#!lua flags=no-writes
-- with: jobs
-- Counts jobs by status: ARGV is the token of the scope ('' for all).
local counted = {}
for place, status in ipairs(job_statuses) do
  counted[place] = redis.call('ZCARD', ARGV[1] == '' and times_key(status) or status_key(ARGV[1], status))
end
return counted
