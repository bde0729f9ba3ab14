#!lua flags=no-writes
-- with: commits, sessions
-- Reads messages of a session: ARGV is the token of the scope's store, the id, the number of the first one ('' for
-- the last ones there are), how many. Answers how many messages there are, or -1 when there is no such session; the
-- number of the first one that is answered; and role, content and time of each.
local token, id, first, count = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if not is_session(token, id) then return { -1, 0, {} } end
local length = redis.call('LLEN', messages_key(token, id))
first = first or math.max(0, length - count)
return { length, first, messages_from(token, id, first, count) }
