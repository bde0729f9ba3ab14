-- How a scope's graph lies. What mentions what is the only thing that is known: a fact is a memory's id, '#' and a
-- number that tells the memory's facts apart. It is kept as one text: when it was recorded, from when it holds, when it
-- ceases to and when that became known ('-' if not), and a line for each entity, with the time of the mention:
--   1772366400000000 0 - -
--   1772366400000000<tab>Ticket:ticket-1
-- How many facts mention an entity is counted; all else follows from these.
local graph_kinds = { facts = 'hash', sentences = 'hash', recorded = 'zset', versions = 'hash', entities = 'hash' }

local CHUNK = 1000 -- how many values one command is given at the most, since Lua's stack is bounded

local function mentions_key(token, entity) return key('mentions', token) .. ':' .. entity end

local function graph_of(token)
  local graph = { token = token }
  for kind in pairs(graph_kinds) do graph[kind] = key(kind, token) end
  return graph
end

local function check_type(name, wanted)
  local found = redis.call('TYPE', name).ok
  if found ~= 'none' and found ~= wanted then
    error({ err = 'CORRUPT a key of the graph is a ' .. found .. ', not a ' .. wanted })
  end
end

-- Looks at the keys that a change may touch, all but the mentions.
local function check_graph(graph)
  for kind, wanted in pairs(graph_kinds) do check_type(graph[kind], wanted) end
  check_type(KEYS[1], 'zset')
  check_type(holding, 'hash')
end

local function parse_fact(record)
  local recorded, from, to, expired, mentions = string.match(record, '^(%d+) (%-?%d+) (%S+) (%S+)\n(%d+\t.+\n)$')
  if not recorded then error({ err = 'CORRUPT a fact is not as we wrote it' }) end
  return { recorded = recorded, from = from, to = to, expired = expired, mentions = mentions }
end

-- Where a fact stands among others: the newest first, but those that had ended when they were closed come last.
local function place_of(fact)
  local ended = fact.expired ~= '-' and tonumber(fact.to) <= tonumber(fact.expired)
  return string.format('%.0f', (ended and 2^53 or 0) - tonumber(fact.recorded))
end

local function fact_text(fact)
  return table.concat({ fact.recorded, fact.from, fact.to, fact.expired }, ' ') .. '\n' .. fact.mentions
end

-- Calls visit(entity, time) for each mention.
local function each_mention(mentions, visit)
  for time, entity in string.gmatch(mentions, '(%d+)\t([^\n]+)\n') do visit(entity, time) end
end

local function read_fact(graph, name)
  local record = redis.call('HGET', graph.facts, name)
  return record and parse_fact(record) or nil
end

local function check_mentions(graph, fact)
  each_mention(fact.mentions, function(entity) check_type(mentions_key(graph.token, entity), 'zset') end)
end

local function newest_version(graph, memory) return tonumber(redis.call('HGET', graph.versions, memory) or 0) end

local function fact_name(memory, version) return memory .. '#' .. string.format('%d', version) end

-- Forgets a fact, and the entities that no other one mentions.
local function drop_fact(graph, name, mentions)
  each_mention(mentions, function(entity)
    redis.call('ZREM', mentions_key(graph.token, entity), name)
    if redis.call('HINCRBY', graph.entities, entity, -1) <= 0 then redis.call('HDEL', graph.entities, entity) end
  end)
  redis.call('HDEL', graph.facts, name)
  redis.call('HDEL', graph.sentences, name)
  redis.call('ZREM', graph.recorded, name)
end

local function chunks(list, visit)
  for first = 1, #list, CHUNK do
    visit({ unpack(list, first, math.min(first + CHUNK - 1, #list)) })
  end
end
