-- with: graph
-- Closes the open facts of memories: ARGV is now, the token of the graph, when they cease to hold, and the memories' ids.
-- Answers how many were open.
local now, graph, to = ARGV[1], graph_of(ARGV[2]), ARGV[3]
check_graph(graph)
local open = {}
for at = 4, #ARGV do
  local name = fact_name(ARGV[at], newest_version(graph, ARGV[at]))
  local fact = read_fact(graph, name)
  if fact and fact.expired == '-' then
    check_mentions(graph, fact)
    open[name] = fact
  end
end

local closed = 0
for name, fact in pairs(open) do
  fact.to, fact.expired = to, now
  redis.call('HSET', graph.facts, name, fact_text(fact))
  redis.call('ZADD', graph.recorded, place_of(fact), name)
  each_mention(fact.mentions, function(entity)
    redis.call('ZADD', mentions_key(graph.token, entity), place_of(fact), name)
  end)
  closed = closed + 1
end
return closed
