-- with: graph
-- Forgets all facts of memories: ARGV is the scope as a member, the token of its graph, and the memories' ids.
-- Answers how many facts that were.
local member, graph = ARGV[1], graph_of(ARGV[2])
check_graph(graph)
local doomed = {}
for at = 3, #ARGV do
  for version = 0, newest_version(graph, ARGV[at]) do
    local name = fact_name(ARGV[at], version)
    doomed[name] = read_fact(graph, name)
    if doomed[name] then check_mentions(graph, doomed[name]) end
  end
end

local forgotten = 0
for name, fact in pairs(doomed) do
  drop_fact(graph, name, fact.mentions)
  forgotten = forgotten + 1
end
for at = 3, #ARGV do redis.call('HDEL', graph.versions, ARGV[at]) end
if forgotten > 0 then hold(member, -forgotten) end
return forgotten
