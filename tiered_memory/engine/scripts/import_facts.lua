-- with: graph
-- Writes facts beside those that are there: ARGV is the scope as a member, the token of its graph, then for each memory
-- the token of its tier ('' for facts that no record states), the digest of its id, the id, how many facts, and for each,
-- the oldest first, the fact as it is kept and its text. A fact that a record states belongs to the next record at the id
-- that says the same; the others are written only where an id has none.
-- Answers for each memory `imported`, `skipped` (all are there), `conflict` (others are, and stay; or the memory says
-- something else) or `expired` (the memory is gone).
local member, graph = ARGV[1], facts.graph_of(ARGV[2])

local memories, at = {}, 3
while at <= #ARGV do
  local memory = { token = ARGV[at], digest = ARGV[at + 1], id = ARGV[at + 2], facts = {} }
  for place = 1, tonumber(ARGV[at + 3]) do
    local record = ARGV[at + 2 + 2 * place]
    memory.facts[place] = { fact = facts.parse(record), record = record, text = ARGV[at + 3 + 2 * place] }
  end
  memories[#memories + 1] = memory
  at = at + 4 + 2 * #memory.facts
end

check_graph(graph)
for _, memory in ipairs(memories) do
  if memory.token ~= '' then check_type(key('woven', memory.token), 'hash') end
  for _, each in ipairs(memory.facts) do check_mentions(graph, each.fact) end
end

-- The numbers in a list, the oldest first.
local function oldest_first(list)
  local numbers = {}
  each_number(list, function(number) table.insert(numbers, 1, number) end)
  return numbers
end

-- The number of each fact's record, or nil where the records don't say what the facts do.
local function records_of(memory, slot)
  local numbers, place = {}, 1
  for _, number in ipairs(oldest_first(slot)) do
    local each = memory.facts[place]
    if each and redis.call('HGET', record_key(number), 'text') == each.text then
      numbers[place] = number
      place = place + 1
    end
  end
  return #numbers == #memory.facts and numbers or nil
end

local added = 0

local function write(memory, each, number)
  local name = facts.name(memory.id, number)
  facts.place(graph, name, each.fact)
  facts.each_mention(each.fact.mentions, function(entity) redis.call('HINCRBY', graph.entities, entity, 1) end)
  if memory.token == '' then redis.call('HSET', graph.sentences, name, each.text) end
  added = added + 1
end

local function import_stated(memory)
  local slot = redis.call('HGET', key('slots', memory.token), memory.digest)
  local numbers = slot and records_of(memory, slot)
  if not numbers then return slot and 'conflict' or 'expired' end
  local outcome = 'skipped'
  for place, each in ipairs(memory.facts) do
    local there = redis.call('HGET', graph.facts, facts.name(memory.id, numbers[place]))
    if there and there ~= each.record then return 'conflict' end
    if not there then outcome = 'imported' end
  end
  if outcome == 'skipped' then return outcome end
  redis.call('HSET', key('woven', memory.token), '', graph.token, memory.digest, memory.id)
  for place, each in ipairs(memory.facts) do
    if redis.call('HEXISTS', graph.facts, facts.name(memory.id, numbers[place])) == 0 then
      write(memory, each, numbers[place])
    end
  end
  return outcome
end

local function is_same(memory, numbers)
  for place, each in ipairs(memory.facts) do
    local name = numbers[place] and facts.name(memory.id, numbers[place])
    if not name or redis.call('HGET', graph.facts, name) ~= each.record then return false end
    if redis.call('HGET', graph.sentences, name) ~= each.text then return false end
  end
  return #numbers == #memory.facts
end

local function import_own(memory)
  local chain = redis.call('HGET', graph.chains, memory.id)
  if chain then return is_same(memory, oldest_first(chain)) and 'skipped' or 'conflict' end
  local numbers = {}
  for _, each in ipairs(memory.facts) do
    table.insert(numbers, 1, next_number())
    write(memory, each, numbers[1])
  end
  redis.call('HSET', graph.chains, memory.id, table.concat(numbers, ','))
  return 'imported'
end

local outcomes = {}
for place, memory in ipairs(memories) do
  outcomes[place] = (memory.token ~= '' and import_stated or import_own)(memory)
end
if added > 0 then hold(member, added) end
return outcomes
