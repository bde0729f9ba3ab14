#!lua flags=allow-oom
-- with: commits, sessions
-- Removes a scope's sessions, and what is known of commits: ARGV is the scope as a member, the token of its store, and
-- how many at the most. Answers 1 when there may be more.
local member, token, most = ARGV[1], ARGV[2], tonumber(ARGV[3])
local doomed = redis.call('ZRANGE', sessions_key(token), 0, most - 1)
for _, id in ipairs(doomed) do
  redis.call('UNLINK', messages_key(token, id))
  redis.call('ZREM', sessions_key(token), id)
end
if #doomed > 0 then hold(member, -#doomed) end
redis.call('UNLINK', commits_key(token))
return #doomed == most and 1 or 0
