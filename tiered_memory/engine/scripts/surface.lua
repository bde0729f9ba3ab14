-- Marks memories as surfaced: ARGV is now, the half-life in µs, then for each: token, name and kind of its tier,
-- the id's digest. What doesn't stand there any more is passed over.
local wrong = wrong_shared_type()
if wrong then return wrong end
local marked = 0
for at = 3, #ARGV, 4 do
  local tier, digest = read_tier(at), ARGV[at + 3]
  local value = not wrong_type(tier) and redis.call('HGET', tier.slots, digest)
  if value and not tier.notes then
    if redis.call('HINCRBY', tier.surfaced, digest, 1) == 1 then tally(tier, 'surfaced', 1) end
    redis.call('HSET', tier.surfaced_at, digest, ARGV[1])
    tier.half_life = tonumber(ARGV[2])
    local kept = redis.call('HMGET', record_key(first_number(value)), 'importance', 'uses')
    if kept[1] then retain(tier, digest, kept[1], kept[2], ARGV[1]) end
    marked = marked + 1
  end
end
return marked
