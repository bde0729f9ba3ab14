-- Marks memories as surfaced: ARGV is now, then for each tier its token, name and kind, its half-life in µs where
-- retention is to follow ('' where nothing is evicted), the number of ids and their digests.
-- What doesn't stand there any more is passed over.
local wrong = wrong_shared_type()
if wrong then return wrong end

local function mark(tier, digest)
  local value = redis.call('HGET', tier.slots, digest)
  if not value then return end
  if redis.call('HINCRBY', tier.surfaced, digest, 1) == 1 then tally(tier, 'surfaced', 1) end
  redis.call('HSET', tier.surfaced_at, digest, ARGV[1])
  if tier.half_life then
    local kept = redis.call('HMGET', record_key(first_number(value)), 'importance', 'uses')
    if kept[1] then retain(tier, digest, kept[1], kept[2], ARGV[1]) end
  end
end

local at = 2
while at <= #ARGV do
  local tier, count = read_tier(at), tonumber(ARGV[at + 4])
  tier.half_life = tonumber(ARGV[at + 3])
  if not wrong_type(tier) then
    for place = at + 5, at + 4 + count do mark(tier, ARGV[place]) end
  end
  at = at + 5 + count
end
return settle(1)
