-- with: records
-- Marks memories as surfaced, whatever their status: ARGV is now, the scope as a member, the number of tiers, for each
-- its token, name, kind, and half-life in µs where retention is to follow (''), then numbers of records.
-- What isn't a memory of these tiers is passed over.
local tiers, at = {}, 4
for _ = 1, tonumber(ARGV[3]) do
  local tier = read_tier(at, ARGV[2])
  tier.half_life = tonumber(ARGV[at + 3])
  local wrong = wrong_type(tier)
  if wrong then return wrong end
  tiers[tier.token] = tier
  at = at + 4
end

local function mark_active(tier, digest, number)
  if redis.call('HINCRBY', tier.surfaced, digest, 1) == 1 then touch(tier, digest) end
  redis.call('HSET', tier.surfaced_at, digest, ARGV[1])
  if tier.half_life then
    local kept = redis.call('HMGET', record_key(number), 'importance', 'uses')
    retain(tier, digest, kept[1], kept[2], ARGV[1])
  end
end

local function mark(number)
  local slot, active, candidate, superseded =
    unpack(redis.call('HMGET', record_key(number), 'slot', 'active', 'candidate', 'superseded'))
  local function tier_in(field) return tiers[string.match(field or '', '^%x*')] end
  if tier_in(active) then
    mark_active(tier_in(active), slot, number)
  elseif tier_in(candidate) or tier_in(superseded) then
    redis.call('HINCRBY', record_key(number), 'surfaced', 1)
    redis.call('HSET', record_key(number), 'surfaced_at', ARGV[1])
  end
end

for place = at, #ARGV do
  if redis.call('TYPE', record_key(ARGV[place])).ok == 'hash' then mark(ARGV[place]) end
end
return settle(1)
