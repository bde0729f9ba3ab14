#!lua flags=allow-oom
-- with: graph
-- Clears a scope's graph: ARGV is the scope as a member, the token of its graph, and how many facts at the most.
-- Answers 1 when there may be more. A fact that is not as we wrote it goes too; what it left behind goes in the end.
local member, graph, most = ARGV[1], facts.graph_of(ARGV[2]), tonumber(ARGV[3])
check_graph(graph)
local doomed = redis.call('ZRANGE', graph.recorded, 0, most - 1)
for _, name in ipairs(doomed) do facts.drop(graph, name, redis.call('HGET', graph.facts, name) or '') end
if #doomed > 0 then hold(member, -#doomed) end
if #doomed == most then return 1 end

for _, entity in ipairs(redis.call('HKEYS', graph.entities)) do redis.call('UNLINK', facts.mentions_key(graph, entity)) end
redis.call('UNLINK', graph.facts, graph.sentences, graph.chains, graph.entities)
return 0
