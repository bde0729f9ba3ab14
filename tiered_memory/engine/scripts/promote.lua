-- Promotes the newest claim at an id: ARGV is now, the scope as a member, the tier (token, name, kind), the
-- half-life in µs, rules, the id's digest, and the version that was seen ('' for whichever stands there).
-- Answers 'promoted', 'no_candidate' or 'conflict', then the numbers of what waited and of what stood there, each
-- with its fields as they are now.
local tier = read_tier(3)
local now, digest, seen = tonumber(ARGV[1]), ARGV[8], ARGV[9]
tier.half_life, tier.carries = tonumber(ARGV[6]), string.find(ARGV[7], 'c', 1, true) ~= nil
local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end

if expired(tier, digest, now) then drop_active(tier, digest) end
drop_lapsed_claims(tier, digest, now)
local claims, value = redis.call('HGET', tier.claims, digest), redis.call('HGET', tier.slots, digest)
local older = value and first_number(value) or ''
if not claims then return review('no_candidate', '', older) end
local newer = first_number(claims)
if seen ~= '' and seen ~= claims .. '/' .. older then return review('conflict', newer, older) end

local own = redis.call('HMGET', record_key(newer), 'uses', 'importance', 'created_at')
local old = older ~= '' and redis.call('HMGET', record_key(older), 'uses', 'created_at') or { false, false }
if older ~= '' and not old[1] then
  drop_active(tier, digest)
  older = ''
end
local uses = tonumber(own[1]) + (tier.carries and tonumber(old[1] or 0) or 0)

each_number(claims, function(number)
  redis.call('ZREM', tier.waiting, number .. ':' .. digest)
  if number ~= newer then redis.call('UNLINK', record_key(number)) end
  tally(tier, 'candidate', -1)
end)
redis.call('HDEL', tier.claims, digest)
redis.call('HSET', record_key(newer), 'candidate', '', 'active', tier.token, 'active_from', ARGV[1],
  'updated_at', ARGV[1], 'uses', uses, 'created_at', old[2] or own[3], 'supersedes', older)
if older == '' then put_first(tier, digest, newer) else put_in_place(tier, digest, older, newer, ARGV[1]) end
retain(tier, digest, own[2], uses, ARGV[1])

local expires = redis.call('HGET', record_key(newer), 'expires_at')
if expires and expires ~= '0' then
  set_expiry(tier, digest, expires, math.max(1, math.ceil((tonumber(expires) - now) / 1000)))
else
  keep_expiry(tier, digest, newer, now)
end
return review('promoted', newer, older)
