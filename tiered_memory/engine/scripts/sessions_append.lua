-- with: commits, sessions
-- Appends a message: ARGV is the token of the scope's store, the session's id, role, content and time.
-- Answers the message's number, from 0; or -1 when there is no such session.
local token, id = ARGV[1], ARGV[2]
local wrong = wrong_session_type(token, id)
if wrong then return wrong end
if not is_session(token, id) then return -1 end
return redis.call('RPUSH', messages_key(token, id), packed_message(ARGV[3], ARGV[4], ARGV[5])) - 1
