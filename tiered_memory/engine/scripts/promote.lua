-- with: records
-- Promotes the newest claim at an id: ARGV is now, the scope as a member, the tier (token, name, kind), most memories,
-- the half-life in µs, rules, the id's digest, and the version of the claim that was seen ('' for any).
-- Answers 'promoted', 'no_candidate' or 'conflict', then the numbers of what waited and of what stood there, each
-- with its fields as they are now.
local tier = read_tier(3, ARGV[2])
local now, digest, seen = tonumber(ARGV[1]), ARGV[9], ARGV[10]
tier.most, tier.half_life = tonumber(ARGV[6]), tonumber(ARGV[7])
tier.carries = string.find(ARGV[8], 'c', 1, true) ~= nil
local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end

if expired(tier, digest, now) then drop_active(tier, digest) end
local claims, value = drop_lapsed_claims(tier, digest, now), redis.call('HGET', tier.slots, digest)
local older = value and first_number(value) or ''
if #claims == 0 then return review('no_candidate', '', older) end
local newer = claims[1]
if seen ~= '' and seen ~= state_of(claims, older) .. newer then return review('conflict', newer, older) end

local own = redis.call('HMGET', record_key(newer), 'uses', 'importance', 'created_at', 'metadata')
local old = older ~= '' and redis.call('HMGET', record_key(older), 'uses', 'created_at', 'metadata') or {}
if older ~= '' and not old[1] then
  drop_active(tier, digest)
  older = ''
end
local uses = tonumber(own[1]) + (tier.carries and tonumber(old[1] or 0) or 0)

unqueue(tier, newer, digest)
for place = 2, #claims do drop_claim(tier, claims[place], digest) end
redis.call('HDEL', tier.claims, digest)
redis.call('HSET', record_key(newer), 'candidate', '', 'active', tier.token, 'active_from', ARGV[1],
  'updated_at', ARGV[1], 'uses', uses, 'created_at', old[2] or own[3], 'supersedes', older,
  'metadata', own[4] or old[3] or '{}')
if older == '' then put_first(tier, digest, newer) else put_in_place(tier, digest, older, newer, ARGV[1]) end
retain(tier, digest, own[2], uses, ARGV[1])

local expires = redis.call('HGET', record_key(newer), 'expires_at')
if expires then
  set_expiry(tier, digest, expires, math.max(1, math.ceil((tonumber(expires) - now) / 1000)))
else
  keep_expiry(tier, digest, newer, now)
end
evict(tier, 1, { [digest] = true })
return review('promoted', newer, older)
