#!lua flags=allow-oom
-- with: graph
-- Forgets all facts of memories: ARGV is the scope as a member, the token of its graph, and ids as `read_ids` reads them.
-- Answers how many facts that were.
local member, graph, memories, doomed = ARGV[1], facts.graph_of(ARGV[2]), read_ids(3), {}
check_graph(graph)
for _, memory in ipairs(memories) do
  each_fact(graph, memory, function(name)
    doomed[name] = facts.read(graph, name)
    if doomed[name] then check_mentions(graph, doomed[name]) end
  end)
end

local forgotten = 0
for name, fact in pairs(doomed) do
  facts.drop(graph, name, fact.mentions)
  forgotten = forgotten + 1
end
for _, memory in ipairs(memories) do redis.call('HDEL', graph.chains, memory.id) end
if forgotten > 0 then hold(member, -forgotten) end
return forgotten
