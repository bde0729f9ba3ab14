-- with: records
-- Remembers a batch in one scope, wholly or not at all: ARGV is now, the scope as a member, the number of tiers, then
--   for each tier: token, name, 'notes' or 'records', most memories, idle ms, half-life in µs, rules
--   for each item: place of its tier, digest, mode, what is expected, text, metadata, at, expires at, ttl ms,
--                  importance, number of fields, then their names and values.
-- An absent value is the empty text; expires at '0' lifts an expiry. Rules: 'r' refreshes the time of the same text,
-- 'c' carries uses over to a new text. Modes: 'active'; 'candidate', which waits; 'doubtful', which waits unless its
-- text stands there already; 'update', which is done only while what the client expects stands there.
-- Answers for each item what happened.
local now = tonumber(ARGV[1])
local tiers, at = {}, 4
for place = 1, tonumber(ARGV[3]) do
  local tier = read_tier(at, ARGV[2])
  tier.most, tier.idle, tier.half_life = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]), tonumber(ARGV[at + 5])
  tier.refreshes = string.find(ARGV[at + 6], 'r', 1, true) ~= nil
  tier.carries = string.find(ARGV[at + 6], 'c', 1, true) ~= nil
  tier.new, tier.digests, tier.known, tier.staged = {}, {}, {}, { slots = {}, order = {}, retention = {} }
  tiers[place] = tier
  at = at + 7
end

local items, last_argument = {}, in_tree.first and in_tree.first - 1 or #ARGV
while at <= last_argument do
  local item = {
    tier = tiers[tonumber(ARGV[at])], digest = ARGV[at + 1], mode = ARGV[at + 2], expected = ARGV[at + 3],
    text = ARGV[at + 4], metadata = ARGV[at + 5], at = ARGV[at + 6], expires = ARGV[at + 7],
    ttl = tonumber(ARGV[at + 8]), importance = ARGV[at + 9],
  }
  local last = at + 10 + 2 * tonumber(ARGV[at + 10])
  item.fields = { unpack(ARGV, at + 11, last) }
  items[#items + 1] = item
  item.tier.digests[#item.tier.digests + 1] = item.digest
  at = last + 1
end

local STEP = 1000 -- how many values one command is given at the most, since Lua's stack is bounded

-- Reads what stands at all ids of the batch in a few commands.
local function read_standing(tier)
  for first = 1, #tier.digests, STEP do
    local part = { unpack(tier.digests, first, math.min(first + STEP - 1, #tier.digests)) }
    for place, value in ipairs(redis.call('HMGET', tier.slots, unpack(part))) do tier.known[part[place]] = value end
  end
end

-- New ids go into a tier's keys together, which costs far less than one by one.
local function put_staged(tier)
  for kind, list in pairs(tier.staged) do
    for first = 1, #list, STEP do
      redis.call(kind == 'slots' and 'HSET' or 'ZADD', tier[kind], unpack(list, first, math.min(first + STEP - 1, #list)))
    end
  end
  tier.staged = { slots = {}, order = {}, retention = {} }
end

local function stage(tier, kind, first, second)
  local list = tier.staged[kind]
  list[#list + 1], list[#list + 2] = first, second
end

-- What stands at an item's id now; only the batch itself can have changed it since it was read.
local function standing(item)
  local value = item.tier.known[item.digest]
  if value == nil then
    put_staged(item.tier)
    value = redis.call('HGET', item.tier.slots, item.digest)
  end
  item.tier.known[item.digest] = nil
  return value
end

local function corrupt(item)
  local value = item.tier.known[item.digest]
  if not value then return false end
  if item.tier.notes then
    local readable, note = pcall(cmsgpack.unpack, value)
    return not readable or type(note) ~= 'table' or not note.text
  end
  local number = first_number(value)
  local found = redis.call('TYPE', record_key(number)).ok
  return found ~= 'hash' and found ~= 'none'
end

local function changed_meanwhile(item)
  if expired(item.tier, item.digest, now) or all_idle(item.tier, now) then return true end
  local value = item.tier.known[item.digest]
  if value and not item.tier.notes then
    local number = first_number(value)
    value = number .. ':' .. (redis.call('HGET', record_key(number), 'revision') or '')
  end
  return value ~= item.expected
end

local function refusal()
  for _, item in ipairs(items) do
    if corrupt(item) then return redis.error_reply('CORRUPT a memory of the batch is not as we wrote it') end
    if item.mode == 'update' and changed_meanwhile(item) then return redis.error_reply('CONFLICT') end
  end
  return in_tree.refused and in_tree.refused(items)
end

local number = 0 -- of the newest record or note; all numbers of the batch are taken at once

local function next_number()
  number = number + 1
  return string.format('%.0f', number)
end

local function create(item, fields)
  local own = next_number()
  redis.call('HSET', record_key(own), 'text', item.text, 'slot', item.digest, 'recorded_at', ARGV[1],
    'updated_at', ARGV[1], 'revision', '1', unpack(fields))
  return own
end

local function given(value, otherwise) return value ~= '' and value or otherwise end

local function record_new(item)
  local tier = item.tier
  local number = create(item, { 'active', tier.token, 'active_from', ARGV[1], 'created_at', ARGV[1], 'uses', '1',
    'metadata', given(item.metadata, '{}'), 'at', given(item.at, ARGV[1]), unpack(item.fields) })
  stage(tier, 'slots', item.digest, number)
  stage(tier, 'order', number, item.digest)
  stage(tier, 'retention', retention_score(tier, item.importance, 1, ARGV[1]), item.digest)
  tally(tier, 'active', 1)
  touch(tier, item.digest)
  if item.expires ~= '' then
    put_staged(tier)
    set_expiry(tier, item.digest, item.expires, item.ttl)
  end
  return 'recorded'
end

local function change_expiry(item, number)
  if item.expires == '0' then
    lift_expiry(item.tier, item.digest)
  elseif item.expires ~= '' then
    set_expiry(item.tier, item.digest, item.expires, item.ttl)
  else
    keep_expiry(item.tier, item.digest, number, now)
  end
end

-- The vector or what is to be embedded, and the terms, which metadata may change too: it says who speaks.
local function found_by(item)
  local found = {}
  for place = 1, #item.fields, 2 do
    local name = item.fields[place]
    if name == 'terms' or name == 'to_embed' or is_vector(name) then
      found[#found + 1], found[#found + 2] = name, item.fields[place + 1]
    end
  end
  return found
end

local function reaffirm(item, number, old)
  local tier, update = item.tier, item.mode == 'update'
  local uses = update and old.uses or old.uses + 1
  local changed = { 'updated_at', ARGV[1], 'revision', old.revision + 1, 'uses', uses }
  if update then
    changed = joined(changed, item.fields, { 'at', given(item.at, old.at) })
  elseif tier.refreshes then
    changed = joined(changed, { 'at', given(item.at, ARGV[1]) })
  end
  if item.metadata ~= '' then
    local found = found_by(item)
    changed = joined(changed, { 'metadata', item.metadata }, found)
    if in_tree.outdate then in_tree.outdate(number) end
    if #found > 0 and item.metadata ~= old.metadata then drop_other_vectors(number, found) end
  end
  redis.call('HSET', record_key(number), unpack(changed))
  retain(tier, item.digest, update and item.importance or old.importance, uses, ARGV[1])
  if item.expires ~= '' then change_expiry(item, number) end
  return update and 'updated' or 'reaffirmed'
end

local function supersede(item, number, old)
  local tier, update = item.tier, item.mode == 'update'
  local uses = update and old.uses or tier.carries and old.uses + 1 or 1
  local newer = create(item, { 'active', tier.token, 'active_from', ARGV[1], 'created_at', old.created_at,
    'supersedes', number, 'metadata', given(item.metadata, old.metadata), 'uses', uses,
    'at', given(item.at, update and old.at or ARGV[1]), unpack(item.fields) })
  put_in_place(tier, item.digest, number, newer, ARGV[1])
  retain(tier, item.digest, item.importance, uses, ARGV[1])
  change_expiry(item, newer)
  return 'superseded'
end

local function queue(item)
  local tier = item.tier
  local claims = drop_lapsed_claims(tier, item.digest, now)
  for _, number in ipairs(claims) do
    if redis.call('HGET', record_key(number), 'text') == item.text then
      local uses = redis.call('HGET', record_key(number), 'uses')
      redis.call('HSET', record_key(number), 'uses', uses + 1, 'updated_at', ARGV[1])
      return 'already_queued'
    end
  end
  local own = item.metadata ~= '' and { 'metadata', item.metadata } or {}
  local number = create(item, joined(own, { 'candidate', tier.token, 'created_at', ARGV[1], 'uses', '1',
    'at', given(item.at, ARGV[1]), unpack(item.fields) }))
  local member = number .. ':' .. item.digest
  if item.expires ~= '' then
    redis.call('HSET', record_key(number), 'expires_at', item.expires)
    redis.call('PEXPIRE', record_key(number), item.ttl)
    redis.call('ZADD', tier.lapsing, item.expires, member)
    announce_due(tier)
  end
  redis.call('ZADD', tier.waiting, number, member)
  redis.call('HSET', tier.claims, item.digest, table.concat({ number, unpack(claims) }, ','))
  tally(tier, 'candidate', 1)
  touch(tier, item.digest)
  return 'queued'
end

local wanted = { 'text', 'uses', 'created_at', 'metadata', 'at', 'importance', 'revision' }

local function remember_record(item)
  local tier = item.tier
  if tier.expires and expired(tier, item.digest, now) then
    put_staged(tier)
    drop_active(tier, item.digest)
    tier.known[item.digest] = nil
  end
  if item.mode == 'candidate' then return queue(item) end
  local value = standing(item)
  if not value then return item.mode == 'doubtful' and queue(item) or record_new(item) end
  local number, old = first_number(value), {}
  for place, found in ipairs(redis.call('HMGET', record_key(first_number(value)), unpack(wanted))) do
    old[wanted[place]] = found
  end
  if not old.text then
    drop_active(tier, item.digest)
    return item.mode == 'doubtful' and queue(item) or record_new(item)
  end
  if old.text == item.text then return reaffirm(item, number, old) end
  return item.mode == 'doubtful' and queue(item) or supersede(item, number, old)
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
    redis.call('ZADD', tier.order, next_number(), item.digest)
    tally(tier, 'active', 1)
  end
  if item.mode ~= 'update' or item.at ~= '' then note.at = item.at ~= '' and item.at or ARGV[1] end
  write_note(item, note)
  keep_awake(tier)
  return outcome
end

local wrong = wrong_shared_type()
for _, tier in ipairs(tiers) do wrong = wrong or wrong_type(tier) end
wrong = wrong or wrong_vectors(items) or in_tree.wrong and in_tree.wrong(items)
if wrong then return wrong end

sweep_due(now, 2)
for _, tier in ipairs(tiers) do
  if redis.call('ZCOUNT', tier.expiry, '-inf', ARGV[1]) > 0 then sweep(tier, now, 100) end
  tier.expires = redis.call('EXISTS', tier.expiry) == 1
  read_standing(tier)
end
local refused = refusal()
if refused then return settle(refused) end

number = redis.call('INCRBY', sequence, #items) - #items
local outcomes = {}
for place, item in ipairs(items) do
  outcomes[place] = item.tier.notes and remember_note(item) or remember_record(item)
  if outcomes[place] ~= 'queued' and outcomes[place] ~= 'already_queued' then item.tier.new[item.digest] = true end
  if item.tier.notes then evict(item.tier, #items, item.tier.new) end
end
for _, tier in ipairs(tiers) do
  put_staged(tier)
  evict(tier, #items, tier.new)
end
if in_tree.show then in_tree.show(items, outcomes) end
return settle(outcomes)
