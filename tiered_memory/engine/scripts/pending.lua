#!lua flags=no-writes
-- Reads a part of a tier's review queue: ARGV is now, the tier (token, name, kind), where to go on from, how many.
-- Answers where to go on from ('' at the end), then for each claim its number, its fields, its version (the state of
-- its id, and its number), the number of what stands there and its fields (or '' and nothing).
local tier = read_tier(2)
local now, from, limit = tonumber(ARGV[1]), ARGV[5], tonumber(ARGV[6])
local found, more = {}, true

local function contains(list, wanted)
  for _, each in ipairs(list) do
    if each == wanted then return true end
  end
end

local function standing(digest)
  local value = redis.call('HGET', tier.slots, digest)
  if not value or expired(tier, digest, now) then return '', {} end
  local number = first_number(value)
  return number, redis.call('HGETALL', record_key(number))
end

while more and #found < limit do
  local asked = limit - #found
  local bound = from == '' and '-inf' or '(' .. from
  local batch = redis.call('ZRANGE', tier.waiting, bound, '+inf', 'BYSCORE', 'LIMIT', 0, asked, 'WITHSCORES')
  for place = 1, #batch, 2 do
    local number, digest = string.match(batch[place], '^(%d+):(%x+)$')
    from = batch[place + 1]
    local claims = claims_at(tier, digest, now)
    if contains(claims, number) then
      local other, its = standing(digest)
      local version = state_of(claims, other) .. number
      found[#found + 1] = { number, redis.call('HGETALL', record_key(number)), version, other, its }
    end
  end
  more = #batch == 2 * asked
end
return { more and from or '', found }
