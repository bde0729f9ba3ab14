-- with: graph
-- Closes the open facts of memories: ARGV is now, the token of the graph, when they cease to hold, and ids as `read_ids`
-- reads them. Answers how many were open.
local now, graph, to = ARGV[1], facts.graph_of(ARGV[2]), ARGV[3]
check_graph(graph)
local open = {}
for _, memory in ipairs(read_ids(4)) do
  each_fact(graph, memory, function(name)
    local fact = facts.read(graph, name)
    if fact and fact.expired == '-' then
      check_mentions(graph, fact)
      open[name] = fact
    end
  end)
end

local closed = 0
for name, fact in pairs(open) do
  facts.close(graph, name, fact, to, now)
  closed = closed + 1
end
return closed
