#!lua flags=no-writes
-- with: graph
-- The facts of a memory, the newest first: ARGV is the token of the graph and the memory's id.
-- Answers the name, the fact and its text for each.
local graph, memory = graph_of(ARGV[1]), ARGV[2]
local found = {}
for version = newest_version(graph, memory), 0, -1 do
  local name = fact_name(memory, version)
  local fact = redis.call('HGET', graph.facts, name)
  if fact then found[#found + 1] = { name, fact, redis.call('HGET', graph.sentences, name) } end
end
return found
