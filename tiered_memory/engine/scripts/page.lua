#!lua flags=no-writes
-- Reads a part of a tier: ARGV is now, the tier (token, name, kind), where to go on from, how many, 'oldest' or
-- 'newest' first. Answers where to go on from ('' at the end), then the fields of each memory.
local tier = read_tier(2)
local now, from, limit, newest = tonumber(ARGV[1]), ARGV[5], tonumber(ARGV[6]), ARGV[7] == 'newest'
if all_idle(tier, now) then return { '', {} } end

local function following(score, count)
  local bound = score == '' and (newest and '+inf' or '-inf') or '(' .. score
  if newest then return redis.call('ZRANGE', tier.order, bound, '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, count, 'WITHSCORES') end
  return redis.call('ZRANGE', tier.order, bound, '+inf', 'BYSCORE', 'LIMIT', 0, count, 'WITHSCORES')
end

local found = {}
local more = true
while more and #found < limit do
  local asked = limit - #found
  local batch = following(from, asked)
  for place = 1, #batch, 2 do
    local digest = batch[place]
    from = batch[place + 1]
    local value = redis.call('HGET', tier.slots, digest)
    if value and not expired(tier, digest, now) then
      local fields = fields_of(tier, value)
      if #fields > 0 then found[#found + 1] = fields end
    end
  end
  more = #batch == 2 * asked
end
if more and #following(from, 1) == 0 then more = false end
return { more and from or '', found }
