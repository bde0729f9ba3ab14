#!lua flags=no-writes
-- Reads a part of a tier: ARGV is now, the tier (token, name, kind), where to go on from, how many ids, 'oldest' or
-- 'newest' first, and 'history' to have what each id superseded too.
-- Answers where to go on from ('' at the end), then the number and the fields of each memory.
local tier = read_tier(2)
local now, from, limit, newest = tonumber(ARGV[1]), ARGV[5], tonumber(ARGV[6]), ARGV[7] == 'newest'
if all_idle(tier, now) then return { '', {} } end

local function following(score, count)
  local bound = score == '' and (newest and '+inf' or '-inf') or '(' .. score
  if newest then return redis.call('ZRANGE', tier.order, bound, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, count, 'WITHSCORES') end
  return redis.call('ZRANGE', tier.order, bound, '+inf', 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES')
end

local found = {}

local function add(value, digest)
  local fields = fields_of(tier, value, digest)
  if #fields == 0 then return 0 end
  local first = tier.notes and '0' or first_number(value)
  found[#found + 1] = { first, fields }
  if ARGV[8] == 'history' then
    each_number(string.sub(value, #first + 1), function(number)
      found[#found + 1] = { number, redis.call('HGETALL', record_key(number)) }
    end)
  end
  return 1
end

local ids = 0
local more = true
while more and ids < limit do
  local asked = limit - ids
  local batch = following(from, asked)
  for place = 1, #batch, 2 do
    local digest = batch[place]
    from = batch[place + 1]
    local value = redis.call('HGET', tier.slots, digest)
    if value and not expired(tier, digest, now) then ids = ids + add(value, digest) end
  end
  more = #batch == 2 * asked
end
if more and #following(from, 1) == 0 then more = false end
return { more and from or '', found }
