-- How records are made, kept and superseded.
local function joined(...)
  local list = {}
  for _, part in ipairs({ ... }) do
    for _, value in ipairs(part) do list[#list + 1] = value end
  end
  return list
end

-- How well a memory is worth keeping, as a number that puts memories in the same order at any time: the logarithm of
-- (importance + uses / (uses + 1)) halves with every half-life since it was last used.
local function retention_score(tier, importance, uses, moment)
  local strength = tonumber(importance) + tonumber(uses) / (tonumber(uses) + 1)
  return string.format('%.17g', math.log(strength) / math.log(2) + tonumber(moment) / tier.half_life)
end

local function retain(tier, digest, importance, uses, moment)
  redis.call('ZADD', tier.retention, retention_score(tier, importance, uses, moment), digest)
end

-- An id's expiry is one for all that stands there: the active record and its history go together.
local function lift_expiry(tier, digest)
  each_number(redis.call('HGET', tier.slots, digest), function(number)
    redis.call('HDEL', record_key(number), 'expires_at')
    redis.call('PERSIST', record_key(number))
  end)
  redis.call('ZREM', tier.expiry, digest)
  announce_due(tier)
end

local function set_expiry(tier, digest, moment, ttl)
  each_number(redis.call('HGET', tier.slots, digest), function(number)
    redis.call('HSET', record_key(number), 'expires_at', moment)
    redis.call('PEXPIRE', record_key(number), ttl)
  end)
  redis.call('ZADD', tier.expiry, moment, digest)
  announce_due(tier)
end

local function keep_expiry(tier, digest, number, now)
  local moment = expiry_of(tier, digest)
  if not moment then return end
  redis.call('HSET', record_key(number), 'expires_at', string.format('%.0f', moment))
  redis.call('PEXPIRE', record_key(number), math.max(1, math.ceil((moment - now) / 1000)))
end

-- Refuses a batch that was embedded by another embedder than the one in force; one process made all of it.
local function wrong_vectors(batch)
  for _, each in ipairs(batch) do
    for place = 1, #each.fields, 2 do
      if is_vector(each.fields[place]) then return wrong_embedder(each.fields[place]) end
    end
  end
end

-- Takes off a record the vectors that are not among its new `fields`: they are of other words.
local function drop_other_vectors(number, fields)
  local new, old = {}, {}
  for place = 1, #fields, 2 do new[fields[place]] = true end
  for _, name in ipairs(redis.call('HKEYS', record_key(number))) do
    if is_vector(name) and not new[name] then old[#old + 1] = name end
  end
  if #old > 0 then redis.call('HDEL', record_key(number), unpack(old)) end
end

-- Puts record `newer` in the place of `older`, which stays as history with the marks that it got.
local function put_in_place(tier, digest, older, newer, moment)
  local surfaced, surfaced_at = unmark(tier, digest)
  local marks = surfaced and { 'surfaced', surfaced, 'surfaced_at', surfaced_at } or {}
  redis.call('HSET', record_key(older), 'active', '', 'superseded', tier.token, 'superseded_at', moment,
    'superseded_by', newer, unpack(marks))
  redis.call('HSET', tier.slots, digest, newer .. ',' .. redis.call('HGET', tier.slots, digest))
  close_stated(tier, digest, older, moment)
  tally(tier, 'superseded', 1)
  touch(tier, digest)
end

-- Puts record `number` where nothing stands.
local function put_first(tier, digest, number)
  redis.call('HSET', tier.slots, digest, number)
  redis.call('ZADD', tier.order, number, digest)
  tally(tier, 'active', 1)
  touch(tier, digest)
end

-- Evicts what is over the tier's bound: of notes the first one in, of records the least retained that is not among
-- the up to `count` new ones.
local function evict(tier, count, new)
  local over = redis.call('HLEN', tier.slots) - tier.most
  if over <= 0 then return end
  local lowest = redis.call('ZRANGE', tier.notes and tier.order or tier.retention, 0, over + count - 1)
  for _, old_ones in ipairs({ true, false }) do
    for _, digest in ipairs(lowest) do
      if over > 0 and (tier.notes or old_ones ~= (new[digest] == true)) then over = over - drop_active(tier, digest) end
    end
  end
end
