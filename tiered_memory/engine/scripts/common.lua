-- KEYS[1] is {namespace:p}:scopes; every other key is made from it and lies in the same slot.
local prefix = string.sub(KEYS[1], 1, -7)
local sequence, counts, due, holding = prefix .. 'sequence', prefix .. 'counts', prefix .. 'due', prefix .. 'holding'

local function key(kind, token) return prefix .. kind .. ':' .. token end

local function record_key(number) return prefix .. 'record:' .. number end

local kinds = {
  slots = 'hash', order = 'zset', expiry = 'zset', retention = 'zset', waiting = 'zset', lapsing = 'zset',
  claims = 'hash', surfaced = 'hash', surfaced_at = 'hash', tally = 'hash', settled = 'set', views = 'hash',
  woven = 'hash',
}

local tree_kinds = {
  documents = 'zset', directories = 'zset', enabled = 'zset', marked = 'zset', nodes = 'hash', memories = 'hash',
}

-- A scope's tier: its token, its name, whether it keeps 'notes' or 'records', and its scope as a member of the scopes,
-- which scripts need that add to it or take from it.
local function tier_of(token, name, kind, member)
  local tier = { token = token, name = name, notes = kind == 'notes', member = member }
  for each in pairs(kinds) do tier[each] = key(each, token) end
  return tier
end

local function read_tier(at, member) return tier_of(ARGV[at], ARGV[at + 1], ARGV[at + 2], member) end

local function unpacked(value)
  local readable, map = pcall(cmsgpack.unpack, value)
  if not readable or type(map) ~= 'table' then error({ err = 'CORRUPT what is packed is not as we wrote it' }) end
  return map
end

-- The token and the mark of the tree that shows memories of a tier, or nil when it shows none.
local function tree_beside(tier)
  if tier.beside == nil then
    local value = redis.call('HGET', tier.views, '')
    tier.beside = value and unpacked(value) or false
  end
  return tier.beside or nil
end

local function wrong_beside(tier)
  local tree = tree_beside(tier)
  for kind, wanted in pairs(tree and tree_kinds or {}) do
    local found = redis.call('TYPE', key(kind, tree.token)).ok
    if found ~= 'none' and found ~= wanted then
      return redis.error_reply('CORRUPT ' .. kind .. ' of a tree is a ' .. found .. ', not a ' .. wanted)
    end
  end
end

-- Looks at every key that a script may write, before it writes any: nothing is left half done.
local function wrong_type(tier)
  for kind, wanted in pairs(kinds) do
    local found = redis.call('TYPE', tier[kind]).ok
    if found ~= 'none' and found ~= wanted then
      return redis.error_reply('CORRUPT ' .. kind .. ' of a tier is a ' .. found .. ', not a ' .. wanted)
    end
    if kind == 'views' and found == 'none' then tier.beside = false end
    if kind == 'woven' and found == 'none' then tier.graph = false end
  end
  return wrong_beside(tier)
end

local function wrong_shared_type()
  local shared = { [KEYS[1]] = 'zset', [sequence] = 'string', [counts] = 'hash', [due] = 'zset', [holding] = 'hash' }
  for name, wanted in pairs(shared) do
    local found = redis.call('TYPE', name).ok
    if found ~= 'none' and found ~= wanted then
      return redis.error_reply('CORRUPT a key of the partition is a ' .. found .. ', not a ' .. wanted)
    end
  end
end

-- Changes of the counts by tier and status, made together when a script settles.
local changes = {}

local function tally(tier, status, change)
  local name = tier.token .. status
  changes[name] = changes[name] or { tier = tier, status = status, number = 0 }
  changes[name].number = changes[name].number + change
end

-- A scope is among the partition's scopes as long as it holds something.
local function hold(member, change)
  if redis.call('HINCRBY', holding, member, change) > 0 then
    redis.call('ZADD', KEYS[1], 0, member)
  else
    redis.call('HDEL', holding, member)
    redis.call('ZREM', KEYS[1], member)
  end
end

-- Notes that what stands or waits at an id has changed.
local touched = {}

local function touch(tier, digest)
  touched[tier] = touched[tier] or {}
  touched[tier][digest] = true
end

local settle_views -- brings documents that are views of ids which were touched in step, see `shown`
local close_stated, drop_stated -- close and forget the facts that records state, see `woven`

-- What each script that forgets or adds something must do in the end; passes on its answer.
local function settle(answer)
  settle_views()
  local held = {}
  for _, each in pairs(changes) do
    local tier, status, number = each.tier, each.status, each.number
    if number ~= 0 then
      redis.call('HINCRBY', counts, tier.name .. ':' .. status, number)
      if redis.call('HINCRBY', tier.tally, status, number) == 0 then redis.call('HDEL', tier.tally, status) end
      if status == 'active' or status == 'candidate' then held[tier.member] = (held[tier.member] or 0) + number end
    end
  end
  for member, number in pairs(held) do
    if number ~= 0 then hold(member, number) end
  end
  changes = {}
  return answer
end

local function flat(map)
  local list = {}
  for name, value in pairs(map) do
    list[#list + 1] = name
    list[#list + 1] = value
  end
  return list
end

-- Calls visit(number) for each number in a list like '17,9,2', which is how slots and claims keep them.
local function each_number(list, visit)
  for number in string.gmatch(list, '%d+') do visit(number) end
end

local function first_number(list)
  local first = string.match(list, '^(%d+)[%d,]*$')
  if not first then error({ err = 'CORRUPT what stands at an id is not as we wrote it' }) end
  return first
end

-- When the id with this digest expires, in microseconds since 1970, or nil.
local function expiry_of(tier, digest)
  local moment = redis.call('ZSCORE', tier.expiry, digest)
  return moment and tonumber(moment) or nil
end

local function expired(tier, digest, now)
  local moment = expiry_of(tier, digest)
  return moment ~= nil and moment <= now
end

local function announce_due(tier)
  local member = table.concat({ tier.token, tier.notes and 'notes' or 'records', tier.name, tier.member }, ':')
  redis.call('ZREM', due, member)
  for _, each in ipairs({ tier.expiry, tier.lapsing }) do
    local first = redis.call('ZRANGE', each, 0, 0, 'WITHSCORES')[2]
    if first then redis.call('ZADD', due, 'LT', first, member) end
  end
end

-- Takes off the marks of having been surfaced; answers how often and when last.
local function unmark(tier, digest)
  local count, moment = redis.call('HGET', tier.surfaced, digest), redis.call('HGET', tier.surfaced_at, digest)
  if not count then return nil end
  redis.call('HDEL', tier.surfaced, digest)
  redis.call('HDEL', tier.surfaced_at, digest)
  return count, moment
end

-- The numbers of what waits for review at an id, newest first, and of what lapsed or is gone while it waited.
local function claims_at(tier, digest, now)
  local live, lapsed = {}, {}
  each_number(redis.call('HGET', tier.claims, digest) or '', function(number)
    local text, expires = unpack(redis.call('HMGET', record_key(number), 'text', 'expires_at'))
    local list = text and (not expires or tonumber(expires) > now) and live or lapsed
    list[#list + 1] = number
  end)
  return live, lapsed
end

-- Takes a claim out of the review queue; its record stays.
local function unqueue(tier, number, digest)
  local member = number .. ':' .. digest
  redis.call('ZREM', tier.waiting, member)
  redis.call('ZREM', tier.lapsing, member)
  tally(tier, 'candidate', -1)
  touch(tier, digest)
end

local function drop_claim(tier, number, digest)
  redis.call('UNLINK', record_key(number))
  unqueue(tier, number, digest)
end

-- Forgets what waits for review at an id; answers how many claims that were, without those that have lapsed.
local function drop_claims(tier, digest, now)
  local live, lapsed = claims_at(tier, digest, now)
  for _, list in ipairs({ live, lapsed }) do
    for _, number in ipairs(list) do drop_claim(tier, number, digest) end
  end
  redis.call('HDEL', tier.claims, digest)
  return #live
end

local function set_claims(tier, digest, numbers)
  if #numbers == 0 then
    redis.call('HDEL', tier.claims, digest)
  else
    redis.call('HSET', tier.claims, digest, table.concat(numbers, ','))
  end
end

-- Forgets what lapsed while it waited at an id; answers the numbers of what still waits there, newest first.
local function drop_lapsed_claims(tier, digest, now)
  local live, lapsed = claims_at(tier, digest, now)
  for _, number in ipairs(lapsed) do drop_claim(tier, number, digest) end
  if #lapsed > 0 then set_claims(tier, digest, live) end
  return live
end

-- Forgets what stands at an id, its history included; what waits there for review stays.
local function drop_active(tier, digest)
  local value = redis.call('HGET', tier.slots, digest)
  if not value then return 0 end
  if not tier.notes then
    drop_stated(tier, digest, value, true)
    local records = 0
    each_number(value, function(number)
      redis.call('UNLINK', record_key(number))
      records = records + 1
    end)
    tally(tier, 'superseded', 1 - records)
  end
  redis.call('HDEL', tier.slots, digest)
  redis.call('ZREM', tier.order, digest)
  redis.call('ZREM', tier.expiry, digest)
  redis.call('ZREM', tier.retention, digest)
  unmark(tier, digest)
  tally(tier, 'active', -1)
  touch(tier, digest)
  return 1
end

local function drop_notes(tier)
  tally(tier, 'active', -redis.call('HLEN', tier.slots))
  redis.call('DEL', tier.slots, tier.order, tier.expiry, tier.retention, tier.surfaced, tier.surfaced_at)
end

-- Forgets up to `most` of what has expired; answers whether there may be more. The empty digest stands for all notes
-- of an idle scope.
local function sweep(tier, now, most)
  local gone = redis.call('ZRANGE', tier.expiry, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, most)
  for _, digest in ipairs(gone) do
    if digest == '' then drop_notes(tier) else drop_active(tier, digest) end
    redis.call('ZREM', tier.expiry, digest)
  end
  local lapsed = redis.call('ZRANGE', tier.lapsing, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, most)
  for _, member in ipairs(lapsed) do
    drop_lapsed_claims(tier, string.match(member, ':(.*)$'), now)
    redis.call('ZREM', tier.lapsing, member)
  end
  announce_due(tier)
  return #gone == most or #lapsed == most
end

-- Forgets what expired in the partition, in up to `most` tiers; answers whether there may be more.
local function sweep_due(now, most)
  local members = redis.call('ZRANGE', due, '-inf', string.format('%.0f', now), 'BYSCORE', 'LIMIT', 0, most)
  local more = #members == most
  for _, each in ipairs(members) do
    local token, kind, name, member = string.match(each, '^(%x+):(%a+):([^:]*):(.*)$')
    more = sweep(tier_of(token, name, kind, member), now, 100) or more
  end
  return more
end

local function all_idle(tier, now) return tier.notes and expired(tier, '', now) end

-- A note is packed as a flat map of fields; a record is a hash of the same fields, here with the marks of having been
-- surfaced, which are kept apart since a record that changes is indexed anew.
local function fields_of(tier, value, digest)
  if tier.notes then return flat(unpacked(value)) end
  local fields = redis.call('HGETALL', record_key(first_number(value)))
  local surfaced = #fields > 0 and redis.call('HGET', tier.surfaced, digest)
  if surfaced then
    for _, each in ipairs({ 'surfaced', surfaced, 'surfaced_at', redis.call('HGET', tier.surfaced_at, digest) }) do
      fields[#fields + 1] = each
    end
  end
  return fields
end

-- What is added to a script that has the tree or the jobs at hand, see `views` and `deferral`.
local in_tree = {}

local function is_vector(name) return string.sub(name, 1, 7) == 'vector_' end

-- Refuses whoever still has the embedder of another vector field, once the partition has moved to a new one.
local function wrong_embedder(field)
  local in_force = redis.call('HGET', prefix .. 'meta', 'vector')
  if in_force and in_force ~= field then return redis.error_reply('EMBEDDER another vector field is in force') end
end

-- What tells this state of an id from any other: what waits there, and what stands there.
local function state_of(claims, older) return table.concat(claims, ',') .. '/' .. older .. '/' end

-- What a review answers: its outcome, then the number and the fields of what waited and of what stood there.
local function review(outcome, newer, older)
  local function fields(number) return number ~= '' and redis.call('HGETALL', record_key(number)) or {} end
  return settle({ outcome, newer, fields(newer), older, fields(older) })
end
