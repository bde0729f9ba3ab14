#!lua flags=allow-oom
-- with: commits, sessions
-- Removes a session, and what is known of its commits: ARGV is the scope as a member, the token of its store, the id.
-- Answers how many messages went, or -1 when there is no such session.
local member, token, id = ARGV[1], ARGV[2], ARGV[3]
local wrong = wrong_session_type(token, id)
if wrong then return wrong end
if redis.call('ZREM', sessions_key(token), id) == 0 then return -1 end
local count = redis.call('LLEN', messages_key(token, id))
redis.call('UNLINK', messages_key(token, id))
drop_commits_of(token, id)
hold(member, -1)
return count
