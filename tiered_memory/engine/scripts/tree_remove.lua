#!lua flags=allow-oom
-- with: tree, jobs, jobs_removal, commits, commits_removed, memories_removed
-- Removes a node and all below it: ARGV is the tree's address and the URI.
-- Answers how many documents went, or -1 when nothing stands there.
local tree, uri = read_tree(1), ARGV[4]
local wrong = wrong_tree(tree) or wrong_removal(tree, uri)
if wrong then return wrong end
if not node_of(tree, uri) then return -1 end

local removed = remove_subtree(tree, uri)
settle_tree(tree)
return removed
