-- with: commits, sessions
-- Restores messages of a session: ARGV is the scope as a member, the token of its store, the id, the number of the
-- first message, 'end' when none follows, then role, content and time of each.
-- They are imported where nothing stands from that number on, and skipped where exactly these stand (compared without
-- their times). Answers 'imported', 'skipped' or 'conflict'.
local member, token, id, first, ends = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5] == 'end'
local count = (#ARGV - 5) / 3
local wrong = wrong_session_type(token, id)
if wrong then return wrong end

local function same(standing)
  for place, message in ipairs(standing) do
    if message[1] ~= ARGV[3 + 3 * place] or message[2] ~= ARGV[4 + 3 * place] then return false end
  end
  return true
end

local length, known = redis.call('LLEN', messages_key(token, id)), is_session(token, id)
if not known and first == 0 or known and count > 0 and length == first then
  add_session(member, token, id)
  for at = 6, #ARGV, 3 do
    redis.call('RPUSH', messages_key(token, id), packed_message(ARGV[at], ARGV[at + 1], ARGV[at + 2]))
  end
  return 'imported'
end
if not known or length < first + count or ends and length > first + count then return 'conflict' end
return same(messages_from(token, id, first, count)) and 'skipped' or 'conflict'
