-- with: graph
-- Writes the facts of memories that have none: ARGV is the scope as a member, the token of its graph, then for each
-- memory its id, how many facts it has, and for each, the oldest first, the fact as it is kept and its text.
-- Answers for each memory `imported`, `skipped` (it has exactly these) or `conflict` (it has others, which stay).
local member, graph = ARGV[1], graph_of(ARGV[2])

local memories, at = {}, 3
while at <= #ARGV do
  local memory = { id = ARGV[at], facts = {} }
  for place = 1, tonumber(ARGV[at + 1]) do
    local record = ARGV[at + 2 * place]
    memory.facts[place] = { fact = parse_fact(record), record = record, text = ARGV[at + 2 * place + 1] }
  end
  memories[#memories + 1] = memory
  at = at + 2 + 2 * #memory.facts
end

check_graph(graph)
for _, memory in ipairs(memories) do
  for _, each in ipairs(memory.facts) do check_mentions(graph, each.fact) end
end

local function has_facts(memory)
  return redis.call('HEXISTS', graph.versions, memory.id) == 1
    or redis.call('HEXISTS', graph.facts, fact_name(memory.id, 0)) == 1
end

local function is_same(memory)
  if newest_version(graph, memory.id) ~= #memory.facts - 1 then return false end
  for place, each in ipairs(memory.facts) do
    local name = fact_name(memory.id, place - 1)
    if redis.call('HGET', graph.facts, name) ~= each.record then return false end
    if redis.call('HGET', graph.sentences, name) ~= each.text then return false end
  end
  return true
end

local added = 0

local function write(memory)
  for place, each in ipairs(memory.facts) do
    local name = fact_name(memory.id, place - 1)
    redis.call('HSET', graph.facts, name, each.record)
    redis.call('HSET', graph.sentences, name, each.text)
    redis.call('ZADD', graph.recorded, place_of(each.fact), name)
    each_mention(each.fact.mentions, function(entity)
      redis.call('ZADD', mentions_key(graph.token, entity), place_of(each.fact), name)
      redis.call('HINCRBY', graph.entities, entity, 1)
    end)
  end
  if #memory.facts > 1 then redis.call('HSET', graph.versions, memory.id, #memory.facts - 1) end
  added = added + #memory.facts
end

local outcomes = {}
for place, memory in ipairs(memories) do
  if not has_facts(memory) then
    write(memory)
    outcomes[place] = 'imported'
  else
    outcomes[place] = is_same(memory) and 'skipped' or 'conflict'
  end
end
if added > 0 then hold(member, added) end
return outcomes
