-- Reads what is to be embedded at some ids of a tier, be it active, superseded or waiting: ARGV is now, the tier (token,
-- name, kind), the vector's field, then the digests. Answers number, revision, scope and words of each record. One that
-- has got a vector meanwhile has nothing more to be embedded.
local now, tier, field = tonumber(ARGV[1]), read_tier(2), ARGV[5]
local found = {}

local function look(number)
  local values = redis.call('HMGET', record_key(number), 'revision', 'scope', 'to_embed', field)
  if values[3] and values[4] then
    redis.call('HDEL', record_key(number), 'to_embed')
  elseif values[3] then
    found[#found + 1] = { number, values[1], values[2], values[3] }
  end
end

for place = 6, #ARGV do
  local digest = ARGV[place]
  if not expired(tier, digest, now) then each_number(redis.call('HGET', tier.slots, digest) or '', look) end
  for _, number in ipairs((claims_at(tier, digest, now))) do look(number) end
end
return found
