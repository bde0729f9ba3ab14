-- How a scope's commits lie: in one sorted set, each as two members, so that it is found from both sides. One is 'd',
-- its destination, session and hash, the other 's', its session and destination, with NULs between.
local NUL, AFTER_NUL = '\0', '\1'

local function commits_key(token) return key('commits', token) end

local function wrong_commits(token)
  local found = redis.call('TYPE', commits_key(token)).ok
  if found ~= 'none' and found ~= 'zset' then return redis.error_reply('CORRUPT the commits are a ' .. found) end
end

-- Where the commit of a session to a URI begins and ends; no text has the byte 255.
local function commit_bounds(id, uri)
  local start = table.concat({ 'd', uri, id, '' }, NUL)
  return '[' .. start, '(' .. start .. '\255', #start
end

-- The hash that a session was committed to a URI with, or nil.
local function hash_of_commit(token, id, uri)
  local first, last, length = commit_bounds(id, uri)
  local member = redis.call('ZRANGE', commits_key(token), first, last, 'BYLEX', 'LIMIT', 0, 1)[1]
  return member and string.sub(member, length + 1)
end

local function put_commit(token, id, uri, hash)
  local first, last = commit_bounds(id, uri)
  redis.call('ZREMRANGEBYLEX', commits_key(token), first, last)
  redis.call('ZADD', commits_key(token), 0, string.sub(first, 2) .. hash, 0, table.concat({ 's', id, uri }, NUL))
end

-- Forgets commits that are found from one side: all members between two, with their counterparts.
local function drop_commits_between(token, first, last)
  for _, member in ipairs(redis.call('ZRANGE', commits_key(token), first, last, 'BYLEX')) do
    local side, one, other = string.match(member, '^(.)%z(%Z*)%z(%Z*)')
    if side == 'd' then
      redis.call('ZREM', commits_key(token), member, table.concat({ 's', other, one }, NUL))
    else
      local from, to = commit_bounds(one, other)
      redis.call('ZREM', commits_key(token), member)
      redis.call('ZREMRANGEBYLEX', commits_key(token), from, to)
    end
  end
end

-- Forgets what was committed to a URI or below it; for scripts that remove documents.
local function drop_commits_to(token, uri)
  local start = 'd' .. NUL .. uri
  drop_commits_between(token, '[' .. start .. NUL, '(' .. start .. AFTER_NUL)
  drop_commits_between(token, '[' .. start .. '/', '(' .. start .. '0')
end

-- Forgets what a session committed; the documents stay.
local function drop_commits_of(token, id)
  local start = 's' .. NUL .. id
  drop_commits_between(token, '[' .. start .. NUL, '(' .. start .. AFTER_NUL)
end
