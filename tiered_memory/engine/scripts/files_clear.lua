#!lua flags=allow-oom
-- with: files
-- Deletes a scope's files: ARGV is the scope as a member, the token of its files, and how many at the most.
-- Answers 1 when there may be more.
local member, token, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local doomed = redis.call('ZRANGE', paths_key(token), 0, most - 1)
for _, path in ipairs(doomed) do drop_file(token, path) end
if #doomed > 0 then hold(member, -#doomed) end
return #doomed == most and 1 or 0
