#!lua flags=no-writes
-- with: graph
-- Lists facts, the newest first: ARGV is the token of the graph, and the first and the last place, from 0.
-- Answers the name, the fact and its text for each.
local graph = graph_of(ARGV[1])
local found = {}
chunks(redis.call('ZRANGE', graph.recorded, ARGV[2], ARGV[3]), function(names)
  local facts, texts = redis.call('HMGET', graph.facts, unpack(names)), redis.call('HMGET', graph.sentences, unpack(names))
  for place, name in ipairs(names) do found[#found + 1] = { name, facts[place], texts[place] } end
end)
return found
