#!lua flags=no-writes
-- with: graph
-- The facts of a memory: ARGV is the token of the graph, and an id as `read_ids` reads it.
-- Answers the name, the fact and its text for each.
local graph, names = facts.graph_of(ARGV[1]), {}
each_fact(graph, read_ids(2)[1], function(name)
  if redis.call('HEXISTS', graph.facts, name) == 1 then names[#names + 1] = name end
end)
return with_sentences(graph, names)
