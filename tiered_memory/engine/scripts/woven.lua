-- A scope's graph, as far as memories have to do with it. What mentions what is the only thing that is known: a fact is
-- called by a memory's id, '#' and a number. One that a record states has the number of that record, is closed when the
-- record is superseded, and goes when it goes. A fact is kept as one text: when it was recorded, from when it holds, when
-- it ceases to and when that became known ('-' if not), the tier of the record that states it ('-' for none), and a line
-- for each entity, with the time of the mention:
--   1772366400000000 0 - - semantic
--   1772366400000000<tab>Ticket:ticket-1
-- How many facts mention an entity is counted; all else follows from these.
-- A tier's `woven` has the ids of those of its memories that have facts, by their digests, and at '' the graph's token.
local facts = {}

facts.kinds = { facts = 'hash', sentences = 'hash', recorded = 'zset', chains = 'hash', entities = 'hash' }

function facts.graph_of(token)
  local graph = { token = token }
  for kind in pairs(facts.kinds) do graph[kind] = key(kind, token) end
  return graph
end

function facts.mentions_key(graph, entity) return key('mentions', graph.token) .. ':' .. entity end

function facts.name(id, number) return id .. '#' .. number end

function facts.parse(record)
  local recorded, from, to, expired, tier, mentions =
    string.match(record, '^(%d+) (%-?%d+) (%S+) (%S+) (%S+)\n(%d+\t.+\n)$')
  if not recorded then error({ err = 'CORRUPT a fact is not as we wrote it' }) end
  return { recorded = recorded, from = from, to = to, expired = expired, tier = tier, mentions = mentions }
end

function facts.encode(fact)
  return table.concat({ fact.recorded, fact.from, fact.to, fact.expired, fact.tier }, ' ') .. '\n' .. fact.mentions
end

function facts.read(graph, name)
  local record = redis.call('HGET', graph.facts, name)
  return record and facts.parse(record) or nil
end

-- Where a fact stands among others: the newest first, but those that had ended when they were closed come last.
function facts.place_of(fact)
  local ended = fact.expired ~= '-' and tonumber(fact.to) <= tonumber(fact.expired)
  return string.format('%.0f', (ended and 2^53 or 0) - tonumber(fact.recorded))
end

-- Calls visit(entity, time) for each mention.
function facts.each_mention(mentions, visit)
  for time, entity in string.gmatch(mentions, '(%d+)\t([^\n]+)\n') do visit(entity, time) end
end

-- Keeps a fact, and puts it in its place among those that mention the same.
function facts.place(graph, name, fact)
  local place = facts.place_of(fact)
  redis.call('HSET', graph.facts, name, facts.encode(fact))
  redis.call('ZADD', graph.recorded, place, name)
  facts.each_mention(fact.mentions, function(entity)
    redis.call('ZADD', facts.mentions_key(graph, entity), place, name)
  end)
end

function facts.close(graph, name, fact, to, now)
  fact.to, fact.expired = to, now
  facts.place(graph, name, fact)
end

-- Forgets a fact, and the entities that no other one mentions.
function facts.drop(graph, name, mentions)
  redis.call('HDEL', graph.facts, name)
  redis.call('HDEL', graph.sentences, name)
  redis.call('ZREM', graph.recorded, name)
  facts.each_mention(mentions, function(entity)
    redis.call('ZREM', facts.mentions_key(graph, entity), name)
    if redis.call('HINCRBY', graph.entities, entity, -1) <= 0 then redis.call('HDEL', graph.entities, entity) end
  end)
end

-- Calls visit(graph, id) if memories at an id have facts. What is wrong with the graph is passed over, since it must not
-- keep a memory from being changed or forgotten.
function facts.with(tier, digest, visit)
  if tier.graph == false then return end
  pcall(function()
    if not tier.graph then
      local token = redis.call('HGET', tier.woven, '')
      tier.graph = token and facts.graph_of(token) or false
    end
    local id = tier.graph and redis.call('HGET', tier.woven, digest)
    if id then visit(tier.graph, id) end
  end)
end

-- Closes the fact that a record states, which was superseded at a moment.
close_stated = function(tier, digest, number, moment)
  facts.with(tier, digest, function(graph, id)
    local name = facts.name(id, number)
    local fact = facts.read(graph, name)
    if fact and fact.expired == '-' then facts.close(graph, name, fact, moment, moment) end
  end)
end

-- Forgets the facts that records at an id state, in a list of numbers, and that it had any where nothing is left there.
drop_stated = function(tier, digest, numbers, all)
  facts.with(tier, digest, function(graph, id)
    if all then
      redis.call('HDEL', tier.woven, digest)
      if redis.call('HLEN', tier.woven) == 1 then redis.call('DEL', tier.woven) end
    end
    each_number(numbers, function(number)
      local name = facts.name(id, number)
      local fact = facts.read(graph, name)
      if fact then
        facts.drop(graph, name, fact.mentions)
        hold(tier.member, -1)
      end
    end)
  end)
end
