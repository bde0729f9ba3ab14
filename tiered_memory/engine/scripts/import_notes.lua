-- with: records
-- Writes notes of a tier as an archive has them, after those that are there: ARGV is now, the scope as a member, the
-- tier (token, name, kind), most notes, idle ms, then for each note, the oldest first: the digest of its id, the number
-- of fields, their names and values. What stands at an id stays.
-- Answers for each note 'imported', 'skipped' (the same text is there), 'conflict' or 'expired'.
local now = tonumber(ARGV[1])
local tier = read_tier(3, ARGV[2])
tier.most, tier.idle = tonumber(ARGV[6]), tonumber(ARGV[7])

local notes, at = {}, 8
while at <= #ARGV do
  local note, last = { digest = ARGV[at], fields = {} }, at + 1 + 2 * tonumber(ARGV[at + 1])
  for place = at + 2, last, 2 do note.fields[ARGV[place]] = ARGV[place + 1] end
  notes[#notes + 1] = note
  at = last + 1
end

local function look_at(note)
  local expires = tonumber(note.fields.expires_at)
  if expires and expires <= now then return 'expired' end
  if all_idle(tier, now) or expired(tier, note.digest, now) then return 'imported' end
  local value = redis.call('HGET', tier.slots, note.digest)
  if not value then return 'imported' end
  return unpacked(value).text == note.fields.text and 'skipped' or 'conflict'
end

local function write(note)
  if all_idle(tier, now) then drop_notes(tier) end
  drop_active(tier, note.digest)
  redis.call('HSET', tier.slots, note.digest, cmsgpack.pack(note.fields))
  redis.call('ZADD', tier.order, redis.call('INCR', sequence), note.digest)
  if note.fields.expires_at then redis.call('ZADD', tier.expiry, note.fields.expires_at, note.digest) end
  if tier.idle > 0 then redis.call('ZADD', tier.expiry, string.format('%.0f', now + tier.idle * 1000), '') end
  announce_due(tier)
  tally(tier, 'active', 1)
end

local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end
for _, note in ipairs(notes) do look_at(note) end -- raises, before anything is written, where a note isn't ours

local outcomes = {}
for place, note in ipairs(notes) do
  outcomes[place] = look_at(note)
  if outcomes[place] == 'imported' then write(note) end
end
evict(tier, #notes, {})
return settle(outcomes)
