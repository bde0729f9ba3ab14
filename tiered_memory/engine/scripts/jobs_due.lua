#!lua flags=no-writes
-- with: jobs
-- Whether a claim may find something: ARGV is now, then the kinds.
local now = ARGV[1]
if redis.call('ZCOUNT', times_key('running'), '-inf', now) > 0 then return 1 end
for at = 2, #ARGV do
  if redis.call('EXISTS', ready_key(ARGV[at])) == 1 then return 1 end
  if redis.call('ZCOUNT', later_key(ARGV[at]), '-inf', now) > 0 then return 1 end
end
return 0
