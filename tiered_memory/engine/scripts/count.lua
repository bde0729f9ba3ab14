#!lua flags=no-writes
-- Counts what is active and hasn't expired: ARGV is now, then for each tier its token, name and kind.
local now = tonumber(ARGV[1])
local numbers = {}
for at = 2, #ARGV, 3 do
  local tier = read_tier(at)
  local gone = redis.call('ZCOUNT', tier.expiry, '-inf', ARGV[1])
  numbers[#numbers + 1] = all_idle(tier, now) and 0 or redis.call('HLEN', tier.slots) - gone
end
return numbers
