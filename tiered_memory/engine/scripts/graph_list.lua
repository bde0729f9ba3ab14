#!lua flags=no-writes
-- with: graph
-- Lists facts, the newest first: ARGV is the token of the graph, and the first and the last place, from 0.
-- Answers the name, the fact and its text for each.
local graph = facts.graph_of(ARGV[1])
return with_sentences(graph, redis.call('ZRANGE', graph.recorded, ARGV[2], ARGV[3]))
