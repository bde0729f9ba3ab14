#!lua flags=no-writes
-- Reads what stands at one id: ARGV is now, the tier (token, name, kind), the id's digest.
-- Answers the numbers of its records or the packed note, then the fields, with the marks of having been surfaced;
-- nothing when there is none.
local tier = read_tier(2)
local now, digest = tonumber(ARGV[1]), ARGV[5]
local value = redis.call('HGET', tier.slots, digest)
if not value or expired(tier, digest, now) or all_idle(tier, now) then return {} end
return { value, fields_of(tier, value, digest) }
