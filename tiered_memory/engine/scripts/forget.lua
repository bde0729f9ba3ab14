-- Forgets: ARGV is now, the scope as a member, a digest ('' for all), how many at the most, the number of tiers to
-- forget in, then every tier of the scope (token, name, kind), those first.
-- Answers how many memories were forgotten, and whether there may be more.
local now, digest, most = tonumber(ARGV[1]), ARGV[3], tonumber(ARGV[4])
local tiers = {}
for at = 6, #ARGV, 3 do tiers[#tiers + 1] = read_tier(at) end
local wrong = wrong_shared_type()
for _, tier in ipairs(tiers) do wrong = wrong or wrong_type(tier) end
if wrong then return wrong end

local function forget(tier, each)
  local lapsed = expired(tier, each, now) or all_idle(tier, now)
  local dropped = drop_active(tier, each)
  return (lapsed and 0 or dropped) + drop_claims(tier, each)
end

local forgotten, left = 0, most
for place = 1, tonumber(ARGV[5]) do
  local tier = tiers[place]
  local digests = { digest }
  if digest == '' then
    digests = redis.call('ZRANGE', tier.order, 0, left - 1)
    if #digests < left then
      local waiting = redis.call('HKEYS', tier.claims)
      for at = 1, math.min(#waiting, left - #digests) do digests[#digests + 1] = waiting[at] end
    end
  end
  for _, each in ipairs(digests) do forgotten = forgotten + forget(tier, each) end
  left = left - #digests
  if redis.call('HLEN', tier.slots) == 0 then redis.call('DEL', tier.expiry, tier.settled) end
  announce_due(tier)
  if left <= 0 then break end
end

local remains = false
for _, tier in ipairs(tiers) do
  if redis.call('EXISTS', tier.slots, tier.claims) > 0 then remains = true end
end
if not remains then redis.call('ZREM', KEYS[1], ARGV[2]) end
return { forgotten, (digest == '' and left <= 0) and 1 or 0 }
