-- with: graph
-- Indexes facts: ARGV is now, the scope as a member, the token of its graph, then for each fact the memory's id, its
-- text, from when it holds ('' for now, or as it stands), how many entities, and these. What a fact mentions is added to;
-- one that is closed stays as it is, and the memory has a new one from then on. Answers how many facts are new.
local now, member, graph = ARGV[1], ARGV[2], graph_of(ARGV[3])

local entries, at = {}, 4
while at <= #ARGV do
  local last = at + 3 + tonumber(ARGV[at + 3])
  entries[#entries + 1] = {
    memory = ARGV[at], text = ARGV[at + 1], from = ARGV[at + 2], entities = { unpack(ARGV, at + 4, last) },
  }
  at = last + 1
end

check_graph(graph)
for _, entry in ipairs(entries) do
  read_fact(graph, fact_name(entry.memory, newest_version(graph, entry.memory)))
  for _, entity in ipairs(entry.entities) do check_type(mentions_key(graph.token, entity), 'zset') end
end

local added = 0

-- The open fact of a memory, or a new one.
local function open_fact(memory, from)
  local version = newest_version(graph, memory)
  local name = fact_name(memory, version)
  local fact = read_fact(graph, name)
  if fact and fact.expired == '-' then return name, fact end
  if fact then
    redis.call('HSET', graph.versions, memory, version + 1)
    name = fact_name(memory, version + 1)
  end
  added = added + 1
  fact = { recorded = now, from = from ~= '' and from or now, to = '-', expired = '-', mentions = '' }
  redis.call('ZADD', graph.recorded, place_of(fact), name)
  return name, fact
end

local function mention(fact, name, entity)
  if string.find('\n' .. fact.mentions, '\t' .. entity .. '\n', 1, true) then return end
  fact.mentions = fact.mentions .. now .. '\t' .. entity .. '\n'
  redis.call('ZADD', mentions_key(graph.token, entity), place_of(fact), name)
  redis.call('HINCRBY', graph.entities, entity, 1)
end

for _, entry in ipairs(entries) do
  local name, fact = open_fact(entry.memory, entry.from)
  if entry.from ~= '' then fact.from = entry.from end
  for _, entity in ipairs(entry.entities) do mention(fact, name, entity) end
  redis.call('HSET', graph.facts, name, fact_text(fact))
  redis.call('HSET', graph.sentences, name, entry.text)
end
if added > 0 then hold(member, added) end
return added
