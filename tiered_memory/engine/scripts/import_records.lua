-- with: records
-- Writes memories of a tier as an archive has them, beside what is there: ARGV is now, the scope as a member, the tier
-- (token, name, kind), most memories, the half-life in µs, 'look' to write nothing and only answer, then for each id
--   its digest, what it is ('chain': what stands there and stood there, or 'claims': what waits there), the number of
--   records, and for each, the oldest first: text, recorded at, metadata, active from, created at, updated at, expires
--   at, uses, importance, how often it surfaced, when last, the number of other fields, their names and values.
-- An absent value is the empty text. A record is known by its text and when it was recorded. What continues the chain
-- that stands at an id is put on top of it; what is part of it is there already; another chain stays as it is.
-- Answers for each id 'imported', 'skipped', 'conflict' or 'expired'.
local now = tonumber(ARGV[1])
local tier = read_tier(3, ARGV[2])
tier.most, tier.half_life = tonumber(ARGV[6]), tonumber(ARGV[7])

local layout = {
  'text', 'recorded_at', 'metadata', 'active_from', 'created_at', 'updated_at', 'expires_at', 'uses', 'importance',
  'surfaced', 'surfaced_at',
}

local ids, at, last_argument = {}, 9, in_tree.first and in_tree.first - 1 or #ARGV
while at <= last_argument do
  local id = { tier = tier, digest = ARGV[at], waits = ARGV[at + 1] == 'claims', records = {} }
  local count = tonumber(ARGV[at + 2])
  at = at + 3
  for place = 1, count do
    local record = {}
    for offset, name in ipairs(layout) do record[name] = ARGV[at + offset - 1] end
    at = at + #layout
    local last = at + 2 * tonumber(ARGV[at])
    record.fields = { unpack(ARGV, at + 1, last) }
    id.records[place] = record
    at = last + 1
  end
  ids[#ids + 1] = id
end

local function is_same(number, record)
  local text, recorded_at = unpack(redis.call('HMGET', record_key(number), 'text', 'recorded_at'))
  return text == record.text and recorded_at == record.recorded_at
end

-- The numbers of what stands at an id, the oldest first; none if that has expired or is gone.
local function standing(digest)
  local value, newest_first, numbers = redis.call('HGET', tier.slots, digest), {}, {}
  if not value or expired(tier, digest, now) then return numbers end
  if not redis.call('HGET', record_key(first_number(value)), 'text') then return numbers end
  each_number(value, function(number) newest_first[#newest_first + 1] = number end)
  for place = #newest_first, 1, -1 do numbers[#numbers + 1] = newest_first[place] end
  return numbers
end

-- How many of the chain's records are older than the first that stands; negative when that one is not in it. Nil when
-- the two have nothing in common.
local function offset_of(numbers, records)
  for place, record in ipairs(records) do
    if is_same(numbers[1], record) then return place - 1 end
  end
  for place = 2, #numbers do
    if is_same(numbers[place], records[1]) then return 1 - place end
  end
end

-- What becomes of a chain, and the place of the first of its records that is missing; writes nothing.
local function look_at_chain(id)
  local records, numbers = id.records, standing(id.digest)
  local expires = records[#records].expires_at
  if expires ~= '' and tonumber(expires) <= now then return 'expired' end
  if #numbers == 0 then return 'imported', 1 end
  local offset = offset_of(numbers, records)
  if not offset then return 'conflict' end
  for place = math.max(1, 1 - offset), math.min(#numbers, #records - offset) do
    if not is_same(numbers[place], records[place + offset]) then return 'conflict' end
  end
  if #numbers + offset >= #records then return 'skipped' end
  return 'imported', #numbers + offset + 1
end

-- What becomes of a claim; writes nothing.
local function look_at_claim(id)
  local record = id.records[1]
  if record.expires_at ~= '' and tonumber(record.expires_at) <= now then return 'expired' end
  for _, number in ipairs(claims_at(tier, id.digest, now)) do
    if redis.call('HGET', record_key(number), 'text') == record.text then return 'skipped' end
  end
  for _, number in ipairs(standing(id.digest)) do
    if is_same(number, record) then return 'skipped' end
  end
  return 'imported'
end

local function look_at(id, place)
  if in_tree.is_taken and in_tree.is_taken(place) then return 'conflict' end
  return (id.waits and look_at_claim or look_at_chain)(id)
end

local function given(...)
  local fields, named = {}, { ... }
  for place = 1, #named, 2 do
    if named[place + 1] ~= '' then
      fields[#fields + 1], fields[#fields + 2] = named[place], named[place + 1]
    end
  end
  return fields
end

local function create(digest, record, own)
  local number = string.format('%.0f', redis.call('INCR', sequence))
  local times = given('active_from', record.active_from, 'created_at', record.created_at, 'recorded_at',
    record.recorded_at, 'updated_at', record.updated_at, 'metadata', record.metadata, 'uses', record.uses)
  redis.call('HSET', record_key(number), 'text', record.text, 'slot', digest, 'revision', '1',
    unpack(joined(times, own, record.fields)))
  return number
end

local function ttl_of(moment) return math.max(1, math.ceil((tonumber(moment) - now) / 1000)) end

local function mark(digest, record)
  if record.surfaced == '' then return end
  redis.call('HSET', tier.surfaced, digest, record.surfaced)
  redis.call('HSET', tier.surfaced_at, digest, record.surfaced_at)
end

local function write_chain(id, first)
  local numbers = standing(id.digest)
  if #numbers == 0 then drop_active(tier, id.digest) end
  local older = numbers[#numbers]
  for place = first, #id.records do
    local record, number = id.records[place], nil
    local marks = place < #id.records and given('surfaced', record.surfaced, 'surfaced_at', record.surfaced_at) or {}
    number = create(id.digest, record, joined(given('supersedes', older or ''), { 'active', tier.token }, marks))
    if older then
      put_in_place(tier, id.digest, older, number, record.active_from)
    else
      put_first(tier, id.digest, number)
    end
    older = number
  end
  local head = id.records[#id.records]
  mark(id.digest, head)
  local used = math.max(tonumber(head.updated_at), tonumber(head.surfaced_at) or 0)
  retain(tier, id.digest, head.importance, head.uses, string.format('%.0f', used))
  if head.expires_at ~= '' then
    set_expiry(tier, id.digest, head.expires_at, ttl_of(head.expires_at))
  elseif expiry_of(tier, id.digest) then
    lift_expiry(tier, id.digest)
  end
end

local function write_claim(id)
  local record, claims = id.records[1], drop_lapsed_claims(tier, id.digest, now)
  local number = create(id.digest, record, { 'candidate', tier.token })
  local member = number .. ':' .. id.digest
  if record.expires_at ~= '' then
    redis.call('HSET', record_key(number), 'expires_at', record.expires_at)
    redis.call('PEXPIRE', record_key(number), ttl_of(record.expires_at))
    redis.call('ZADD', tier.lapsing, record.expires_at, member)
    announce_due(tier)
  end
  redis.call('ZADD', tier.waiting, number, member)
  table.insert(claims, 1, number)
  set_claims(tier, id.digest, claims)
  tally(tier, 'candidate', 1)
  touch(tier, id.digest)
end

local wrong = wrong_shared_type() or wrong_type(tier) or in_tree.wrong and in_tree.wrong()
for _, id in ipairs(ids) do wrong = wrong or wrong_vectors(id.records) end
if wrong then return wrong end
local outcomes, new = {}, {}
for place, id in ipairs(ids) do outcomes[place] = look_at(id, place) end -- raises, before any write, where one isn't ours
if ARGV[8] == 'look' then return outcomes end

for place, id in ipairs(ids) do
  local outcome, first = look_at(id, place)
  if outcome == 'imported' then
    if id.waits then write_claim(id) else write_chain(id, first) end
    new[id.digest] = not id.waits or nil
  end
  outcomes[place] = outcome
end
evict(tier, #ids, new)
if in_tree.show then in_tree.show(ids, outcomes) end
return settle(outcomes)
