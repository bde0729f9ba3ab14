-- with: tree
-- Counts the memories that a tree shows: ARGV is now, and the tree's address. What has expired is forgotten before.
-- Answers type:status and how many, one after the other.
local tree = read_tree(2)
local wrong = wrong_tree(tree)
if wrong then return wrong end
while sweep_due(tonumber(ARGV[1]), 100) do end
settle()
return redis.call('HGETALL', tree.memories)
