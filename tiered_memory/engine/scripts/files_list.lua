#!lua flags=no-writes
-- with: files
-- Lists files in the order of their paths: ARGV is the token, where the paths begin and end, and how many at the most.
-- Answers the path and the details of each.
local token = ARGV[1]
local found = {}
for _, path in ipairs(redis.call('ZRANGE', paths_key(token), ARGV[2], ARGV[3], 'BYLEX', 'LIMIT', 0, ARGV[4])) do
  found[#found + 1] = { path, redis.call('HMGET', file_key(token, path), unpack(details)) }
end
return found
