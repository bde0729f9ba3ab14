#!lua flags=allow-oom
-- Forgets what has expired in tiers of a scope: ARGV is now, the scope as a member, then the tiers (token, name, kind).
-- Answers 1 when there may be more.
local now, more = tonumber(ARGV[1]), false
local tiers, wrong = {}, wrong_shared_type()
for at = 3, #ARGV, 3 do
  local tier = read_tier(at, ARGV[2])
  wrong = wrong or wrong_type(tier)
  tiers[#tiers + 1] = tier
end
if wrong then return wrong end
for _, tier in ipairs(tiers) do
  if redis.call('ZCOUNT', tier.expiry, '-inf', ARGV[1]) > 0 then more = sweep(tier, now, 100) or more end
end
return settle(more and 1 or 0)
