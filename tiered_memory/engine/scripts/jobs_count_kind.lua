#!lua flags=no-writes
-- with: jobs
-- Counts jobs of a kind: ARGV is the token of the scope ('' for all), the kind.
local counts = ARGV[1] == '' and job_kinds or key('job_kinds', ARGV[1])
return tonumber(redis.call('HGET', counts, ARGV[2]) or 0)
