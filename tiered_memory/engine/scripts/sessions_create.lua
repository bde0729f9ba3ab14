-- with: commits, sessions
-- Creates a session: ARGV is the scope as a member, the token of its store, the id.
local member, token, id = ARGV[1], ARGV[2], ARGV[3]
local wrong = wrong_session_type(token, id)
if wrong then return wrong end
add_session(member, token, id)
return 1
