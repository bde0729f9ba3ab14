-- How a scope's sessions lie: their ids in one sorted set, in the order of their bytes, and a list of packed messages
-- for each.
local function sessions_key(token) return key('sessions', token) end

local function messages_key(token, id) return key('session', token) .. ':' .. id end

local function is_session(token, id) return redis.call('ZSCORE', sessions_key(token), id) ~= false end

-- Looks at every key that a script may write of one session.
local function wrong_session_type(token, id)
  for name, wanted in pairs({ [sessions_key(token)] = 'zset', [messages_key(token, id)] = 'list' }) do
    local found = redis.call('TYPE', name).ok
    if found ~= 'none' and found ~= wanted then
      return redis.error_reply('CORRUPT a key of a session is a ' .. found .. ', not a ' .. wanted)
    end
  end
  return wrong_commits(token) or wrong_shared_type()
end

local function add_session(member, token, id)
  if redis.call('ZADD', sessions_key(token), 0, id) == 1 then hold(member, 1) end
end

local function packed_message(role, content, at)
  return cmsgpack.pack({ role = role, content = content, at = at })
end

-- Up to `count` messages from number `first` on, each as its role, content and time.
local function messages_from(token, id, first, count)
  local found = {}
  if count == 0 then return found end -- an end before the beginning would be counted from the list's end
  for place, value in ipairs(redis.call('LRANGE', messages_key(token, id), first, first + count - 1)) do
    local message = unpacked(value)
    found[place] = { message.role, message.content, message.at }
  end
  return found
end
