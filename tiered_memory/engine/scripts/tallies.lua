#!lua flags=no-writes
-- Counts a scope's tiers by status: ARGV is now, then for each tier its token, name and kind.
-- Answers for each how many are active, wait, are superseded, and were never surfaced.
local numbers = {}
for at = 2, #ARGV, 3 do
  local tier = read_tier(at)
  local gone = redis.call('ZRANGE', tier.expiry, '-inf', ARGV[1], 'BYSCORE')
  local active = redis.call('HLEN', tier.slots) - #gone
  local superseded = tonumber(redis.call('HGET', tier.tally, 'superseded') or 0)
  local surfaced = redis.call('HLEN', tier.surfaced)
  for _, digest in ipairs(gone) do
    surfaced = surfaced - redis.call('HEXISTS', tier.surfaced, digest)
    local _, commas = string.gsub(redis.call('HGET', tier.slots, digest) or '', ',', '')
    superseded = superseded - commas
  end
  local waiting = redis.call('ZCARD', tier.waiting) - redis.call('ZCOUNT', tier.lapsing, '-inf', ARGV[1])
  numbers[#numbers + 1] = { active, waiting, superseded, active - surfaced }
end
return numbers
