-- Remembers a batch in one scope, wholly or not at all: ARGV is now, the scope as a member, the number of tiers, then
--   for each tier: token, name, 'notes' or 'records', most notes, idle ms, rules
--   for each item: place of its tier, digest, mode, what is expected, text, metadata, at, expires at, ttl ms,
--                  number of fields, then their names and values.
-- An absent value is the empty text; expires at '0' lifts an expiry. Rules: 'r' refreshes the time of the same text,
-- 'c' carries uses over to a new text. Modes: 'active', 'candidate', and 'update', which is done only while what the
-- client expects stands there. Answers for each item what happened.
local now = tonumber(ARGV[1])
local tiers, at = {}, 4
for place = 1, tonumber(ARGV[3]) do
  local tier = read_tier(at)
  tier.most, tier.idle = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  tier.refreshes = string.find(ARGV[at + 5], 'r', 1, true) ~= nil
  tier.carries = string.find(ARGV[at + 5], 'c', 1, true) ~= nil
  tiers[place] = tier
  at = at + 6
end

local items = {}
while at <= #ARGV do
  local item = {
    tier = tiers[tonumber(ARGV[at])], digest = ARGV[at + 1], mode = ARGV[at + 2], expected = ARGV[at + 3],
    text = ARGV[at + 4], metadata = ARGV[at + 5], at = ARGV[at + 6], expires = ARGV[at + 7],
    ttl = tonumber(ARGV[at + 8]), fields = {},
  }
  local count = tonumber(ARGV[at + 9])
  for offset = at + 10, at + 9 + 2 * count do item.fields[#item.fields + 1] = ARGV[offset] end
  items[#items + 1] = item
  at = at + 10 + 2 * count
end

local function corrupt(item)
  local value = redis.call('HGET', item.tier.slots, item.digest)
  if not value then return false end
  if item.tier.notes then
    local readable, note = pcall(cmsgpack.unpack, value)
    return not readable or type(note) ~= 'table' or not note.text
  end
  local number = first_number(value)
  if not number then return true end
  local found = redis.call('TYPE', record_key(number)).ok
  return found ~= 'hash' and found ~= 'none'
end

local function changed_meanwhile(item)
  local value = redis.call('HGET', item.tier.slots, item.digest)
  if value and not item.tier.notes then
    local number = first_number(value)
    value = number .. ':' .. (redis.call('HGET', record_key(number), 'revision') or '')
  end
  return value ~= item.expected
end

local function refusal()
  local wrong = wrong_shared_type()
  for _, tier in ipairs(tiers) do wrong = wrong or wrong_type(tier) end
  if wrong then return wrong end
  for _, item in ipairs(items) do
    if corrupt(item) then return redis.error_reply('CORRUPT a memory of the batch is not as we wrote it') end
    if item.mode == 'update' and changed_meanwhile(item) then return redis.error_reply('CONFLICT') end
  end
end

local function create(item, fields)
  local number = redis.call('INCR', sequence)
  redis.call('HSET', record_key(number), 'text', item.text, 'recorded_at', ARGV[1], 'updated_at', ARGV[1],
    'revision', '1', unpack(fields))
  return tostring(number)
end

local function joined(...)
  local list = {}
  for _, part in ipairs({ ... }) do
    for _, value in ipairs(part) do list[#list + 1] = value end
  end
  return list
end

-- An id's expiry is one for all that stands there: the active record and its history go together.
local function set_expiry(item)
  local tier, lifted = item.tier, item.expires == '0'
  each_number(redis.call('HGET', tier.slots, item.digest), function(number)
    redis.call('HSET', record_key(number), 'expires_at', item.expires)
    if lifted then redis.call('PERSIST', record_key(number)) else redis.call('PEXPIRE', record_key(number), item.ttl) end
  end)
  if lifted then redis.call('ZREM', tier.expiry, item.digest) else redis.call('ZADD', tier.expiry, item.expires, item.digest) end
  announce_due(tier)
end

local function keep_expiry(item, number)
  local moment = expiry_of(item.tier, item.digest)
  if not moment then return end
  redis.call('HSET', record_key(number), 'expires_at', string.format('%.0f', moment))
  redis.call('PEXPIRE', record_key(number), math.max(1, math.ceil((moment - now) / 1000)))
end

local function record_new(item)
  local metadata = item.metadata ~= '' and item.metadata or '{}'
  local number = create(item, joined({ 'active', item.tier.token, 'metadata', metadata, 'created_at', ARGV[1],
    'at', item.at ~= '' and item.at or ARGV[1], 'uses', '1' }, item.fields))
  redis.call('HSET', item.tier.slots, item.digest, number)
  redis.call('ZADD', item.tier.order, number, item.digest)
  tally(item.tier, 'active', 1)
  if item.expires ~= '' and item.expires ~= '0' then set_expiry(item) end
  return 'recorded'
end

local function reaffirm(item, number, uses)
  redis.call('HINCRBY', record_key(number), 'revision', 1)
  local changed = { 'updated_at', ARGV[1] }
  if item.mode == 'update' then
    changed = joined(changed, item.fields)
    if item.at ~= '' then changed = joined(changed, { 'at', item.at }) end
  else
    changed = joined(changed, { 'uses', uses + 1 })
    if item.tier.refreshes then changed = joined(changed, { 'at', item.at ~= '' and item.at or ARGV[1] }) end
  end
  if item.metadata ~= '' then changed = joined(changed, { 'metadata', item.metadata }) end
  redis.call('HSET', record_key(number), unpack(changed))
  if item.expires ~= '' then set_expiry(item) end
  return item.mode == 'update' and 'updated' or 'reaffirmed'
end

local function supersede(item, number, uses, created, metadata, at)
  local carried = item.mode == 'update' and uses or item.tier.carries and uses + 1 or 1
  local moment = item.at ~= '' and item.at or item.mode == 'update' and at or ARGV[1]
  local newer = create(item, joined({ 'active', item.tier.token, 'created_at', created, 'supersedes', number,
    'metadata', item.metadata ~= '' and item.metadata or metadata, 'at', moment, 'uses', carried }, item.fields))
  redis.call('HSET', record_key(number), 'active', '', 'superseded', item.tier.token, 'superseded_at', ARGV[1],
    'superseded_by', newer)
  redis.call('HSET', item.tier.slots, item.digest, newer .. ',' .. redis.call('HGET', item.tier.slots, item.digest))
  tally(item.tier, 'superseded', 1)
  if item.expires ~= '' then set_expiry(item) else keep_expiry(item, newer) end
  return 'superseded'
end

local function queue(item)
  local numbers = redis.call('HGET', item.tier.claims, item.digest) or ''
  for number in string.gmatch(numbers, '%d+') do
    if redis.call('HGET', record_key(number), 'text') == item.text then
      redis.call('HINCRBY', record_key(number), 'uses', 1)
      redis.call('HSET', record_key(number), 'updated_at', ARGV[1])
      return 'already_queued'
    end
  end
  local metadata = item.metadata ~= '' and item.metadata or '{}'
  local number = create(item, joined({ 'candidate', item.tier.token, 'metadata', metadata, 'created_at', ARGV[1],
    'at', item.at ~= '' and item.at or ARGV[1], 'uses', '1' }, item.fields))
  if item.expires ~= '' and item.expires ~= '0' then
    redis.call('HSET', record_key(number), 'expires_at', item.expires)
    redis.call('PEXPIRE', record_key(number), item.ttl)
  end
  redis.call('ZADD', item.tier.waiting, number, number)
  redis.call('HSET', item.tier.claims, item.digest, numbers == '' and number or numbers .. ',' .. number)
  tally(item.tier, 'candidate', 1)
  return 'queued'
end

local function remember_record(item)
  local tier = item.tier
  if expired(tier, item.digest, now) then drop_active(tier, item.digest) end
  if item.mode == 'candidate' then return queue(item) end
  local value = redis.call('HGET', tier.slots, item.digest)
  if not value then return record_new(item) end
  local number = first_number(value)
  local old = redis.call('HMGET', record_key(number), 'text', 'uses', 'created_at', 'metadata', 'at')
  if not old[1] then
    drop_active(tier, item.digest)
    return record_new(item)
  end
  if old[1] == item.text then return reaffirm(item, number, tonumber(old[2])) end
  return supersede(item, number, tonumber(old[2]), old[3], old[4], old[5])
end

local function evict_first(tier)
  while redis.call('HLEN', tier.slots) > tier.most do
    drop_active(tier, redis.call('ZRANGE', tier.order, 0, 0)[1])
  end
end

local function keep_awake(tier)
  if tier.idle == 0 then return end
  redis.call('ZADD', tier.expiry, string.format('%.0f', now + tier.idle * 1000), '')
  announce_due(tier)
end

local function note_fields(item)
  local note = {}
  for place = 1, #item.fields, 2 do note[item.fields[place]] = item.fields[place + 1] end
  return note
end

local function write_note(item, note)
  local tier = item.tier
  note.text, note.updated_at = item.text, ARGV[1]
  if item.metadata ~= '' then note.metadata = item.metadata end
  if item.expires == '0' then
    note.expires_at = nil
    redis.call('ZREM', tier.expiry, item.digest)
  elseif item.expires ~= '' then
    note.expires_at = item.expires
    redis.call('ZADD', tier.expiry, item.expires, item.digest)
  end
  if item.expires ~= '' then announce_due(tier) end
  redis.call('HSET', tier.slots, item.digest, cmsgpack.pack(note))
end

local function remember_note(item)
  local tier = item.tier
  if all_idle(tier, now) then drop_notes(tier) end
  if expired(tier, item.digest, now) then drop_active(tier, item.digest) end
  local old = redis.call('HGET', tier.slots, item.digest)
  local note = note_fields(item)
  local outcome = 'recorded'
  if old then
    local before = cmsgpack.unpack(old)
    outcome = before.text == item.text and 'reaffirmed' or 'replaced'
    if item.mode == 'update' then
      for name, value in pairs(note) do before[name] = value end
      note = before
      if outcome == 'reaffirmed' then outcome = 'updated' end
    else
      note.created_at, note.metadata, note.expires_at = before.created_at, before.metadata, before.expires_at
      note.uses = tostring(tonumber(before.uses) + 1)
    end
  else
    note.created_at, note.metadata, note.uses = ARGV[1], '{}', '1'
    redis.call('ZADD', tier.order, redis.call('INCR', sequence), item.digest)
    tally(tier, 'active', 1)
  end
  if item.mode ~= 'update' or item.at ~= '' then note.at = item.at ~= '' and item.at or ARGV[1] end
  write_note(item, note)
  evict_first(tier)
  keep_awake(tier)
  return outcome
end

local refused = refusal()
if refused then return refused end
sweep_due(now, 2)
redis.call('ZADD', KEYS[1], 0, ARGV[2])
local outcomes = {}
for place, item in ipairs(items) do
  outcomes[place] = item.tier.notes and remember_note(item) or remember_record(item)
end
return outcomes
