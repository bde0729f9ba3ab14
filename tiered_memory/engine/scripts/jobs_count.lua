#!lua flags=no-writes
-- with: jobs
-- Counts jobs of a URI or below it: ARGV is the token of the scope, the URI, the statuses.
local token, total = ARGV[1], 0
for at = 3, #ARGV do
  for _, range in ipairs(uri_ranges(ARGV[2])) do
    total = total + redis.call('ZLEXCOUNT', status_key(token, ARGV[at]), range[1], range[2])
  end
end
return total
