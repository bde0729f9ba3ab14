-- with: graph
-- Indexes facts: ARGV is now, the scope as a member, the token of the graph, then for each fact the token and the name of
-- the tier of the memory that states it ('' and '-' for none), the digest of the memory's id, the id, the text, from when
-- it holds ('' for the time that the memory is of, or now; or as it stands), how many entities, and these. A fact that is
-- there is added to, unless it is closed: then one without a memory has another from then on. A memory that says
-- something else by now, or is gone, is none; what was superseded meanwhile is closed as of then.
-- Answers how many were indexed.
local now, member, graph = ARGV[1], ARGV[2], facts.graph_of(ARGV[3])
local HISTORY = 100 -- how many of an id's records are looked at for the one that says what is indexed

local entries, at = {}, 4
while at <= #ARGV do
  local last = at + 6 + tonumber(ARGV[at + 6])
  entries[#entries + 1] = {
    token = ARGV[at], tier = ARGV[at + 1], digest = ARGV[at + 2], id = ARGV[at + 3], text = ARGV[at + 4],
    from = ARGV[at + 5], entities = { unpack(ARGV, at + 7, last) },
  }
  at = last + 1
end

local function is_closed(entry, number)
  local fact = facts.read(graph, facts.name(entry.id, number))
  return fact ~= nil and fact.expired ~= '-'
end

-- The number of the newest record that says what is indexed, when it was superseded, and the time that it is of; nil
-- where its fact is closed.
local function find_record(entry)
  local looked = 0
  for number in string.gmatch(redis.call('HGET', key('slots', entry.token), entry.digest) or '', '%d+') do
    local text, superseded, moment = unpack(redis.call('HMGET', record_key(number), 'text', 'superseded_at', 'at'))
    if text and (text == entry.text or entry.text == '') then
      return not is_closed(entry, number) and number or nil, superseded or '-', moment
    end
    looked = looked + 1
    if looked == HISTORY then break end
  end
end

-- The number of the open fact that was indexed for an id by hand.
local function find_own(entry)
  local number = string.match(redis.call('HGET', graph.chains, entry.id) or '', '^%d+')
  return number and not is_closed(entry, number) and number or nil
end

check_graph(graph)
for _, entry in ipairs(entries) do
  if entry.token ~= '' then
    check_type(key('woven', entry.token), 'hash')
    entry.number, entry.ended, entry.at = find_record(entry)
  else
    find_own(entry) -- raises, before anything is written, where it is not as we wrote it
  end
  for _, entity in ipairs(entry.entities) do check_type(facts.mentions_key(graph, entity), 'zset') end
end

local indexed, added = 0, 0

local function begin_own(entry)
  local number, chain = next_number(), redis.call('HGET', graph.chains, entry.id)
  redis.call('HSET', graph.chains, entry.id, chain and number .. ',' .. chain or number)
  return number
end

local function start(entry, name)
  added = added + 1
  local ended = entry.ended or '-'
  local fact = { recorded = now, from = entry.at or now, to = ended, expired = ended, tier = entry.tier, mentions = '' }
  redis.call('ZADD', graph.recorded, facts.place_of(fact), name)
  if entry.token ~= '' then
    redis.call('HSET', key('woven', entry.token), '', graph.token, entry.digest, entry.id)
  else
    redis.call('HSET', graph.sentences, name, entry.text)
  end
  return fact
end

local function mention(fact, name, entity)
  if string.find('\n' .. fact.mentions, '\t' .. entity .. '\n', 1, true) then return end
  fact.mentions = fact.mentions .. now .. '\t' .. entity .. '\n'
  redis.call('ZADD', facts.mentions_key(graph, entity), facts.place_of(fact), name)
  redis.call('HINCRBY', graph.entities, entity, 1)
end

local function index(entry)
  local name = facts.name(entry.id, entry.number)
  local fact = facts.read(graph, name)
  if not fact then
    fact = start(entry, name)
  elseif entry.token == '' then
    redis.call('HSET', graph.sentences, name, entry.text)
  end
  if entry.from ~= '' then fact.from = entry.from end
  for _, entity in ipairs(entry.entities) do mention(fact, name, entity) end
  redis.call('HSET', graph.facts, name, facts.encode(fact))
  indexed = indexed + 1
end

for _, entry in ipairs(entries) do
  if entry.token == '' then entry.number = find_own(entry) or begin_own(entry) end
  if entry.number then index(entry) end
end
if added > 0 then hold(member, added) end
return indexed
