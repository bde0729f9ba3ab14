#!lua flags=allow-oom
-- Forgets: ARGV is now, the scope as a member, a digest ('' for all), a number ('' for all that stands or waits there),
-- how many at the most, then the tiers to forget in (token, name, kind).
-- Answers how many memories were forgotten, and whether there may be more.
local now, digest, number, most = tonumber(ARGV[1]), ARGV[3], ARGV[4], tonumber(ARGV[5])
local tiers = {}
for at = 6, #ARGV, 3 do tiers[#tiers + 1] = read_tier(at, ARGV[2]) end
local wrong = wrong_shared_type()
for _, tier in ipairs(tiers) do wrong = wrong or wrong_type(tier) end
if wrong then return wrong end

local function forget_active(tier, each)
  local lapsed = expired(tier, each, now) or all_idle(tier, now)
  local dropped = drop_active(tier, each)
  return lapsed and 0 or dropped
end

-- Forgets what stands at an id, with its history, or one claim there, if that has the number which is meant.
local function forget_one(tier, each)
  local value = redis.call('HGET', tier.slots, each)
  if value and first_number(value) == number then return forget_active(tier, each) end
  local claims, others = drop_lapsed_claims(tier, each, now), {}
  for _, claim in ipairs(claims) do
    if claim == number then drop_claim(tier, claim, each) else others[#others + 1] = claim end
  end
  set_claims(tier, each, others)
  return #claims - #others
end

local function forget(tier, each)
  if number ~= '' then return forget_one(tier, each) end
  return forget_active(tier, each) + drop_claims(tier, each, now)
end

local forgotten, left = 0, most
for _, tier in ipairs(tiers) do
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
return settle({ forgotten, (digest == '' and left <= 0) and 1 or 0 })
