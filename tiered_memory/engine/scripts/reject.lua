#!lua flags=allow-oom
-- Rejects all that waits at an id: ARGV is now, the scope as a member, the tier (token, name, kind), the id's digest,
-- and the version of a claim there that was seen ('' for any); of that only the state of the id matters.
-- Answers 'rejected', 'no_candidate' or 'conflict', then as `promote` does what waited and what stands there.
local tier = read_tier(3, ARGV[2])
local now, digest, seen = tonumber(ARGV[1]), ARGV[6], ARGV[7]
local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end

local claims, value = drop_lapsed_claims(tier, digest, now), redis.call('HGET', tier.slots, digest)
local older = value and not expired(tier, digest, now) and first_number(value) or ''
if #claims == 0 then return review('no_candidate', '', older) end
if seen ~= '' and string.match(seen, '^.*/') ~= state_of(claims, older) then return review('conflict', claims[1], older) end
local rejected = review('rejected', claims[1], older)
drop_claims(tier, digest, now)
return settle(rejected)
