-- Rejects all that waits at an id: ARGV is now, the scope as a member, the tier (token, name, kind), the id's digest,
-- and the version that was seen ('' for whichever stands there).
-- Answers 'rejected', 'no_candidate' or 'conflict', then as `promote` does what waited and what stands there.
local tier = read_tier(3)
local now, digest, seen = tonumber(ARGV[1]), ARGV[6], ARGV[7]
local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end

drop_lapsed_claims(tier, digest, now)
local claims, value = redis.call('HGET', tier.claims, digest), redis.call('HGET', tier.slots, digest)
local older = value and not expired(tier, digest, now) and first_number(value) or ''
if not claims then return review('no_candidate', '', older) end
if seen ~= '' and seen ~= claims .. '/' .. older then return review('conflict', first_number(claims), older) end
local rejected = review('rejected', first_number(claims), older)
drop_claims(tier, digest)
return rejected
