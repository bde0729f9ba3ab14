#!lua flags=allow-oom
-- with: tree, memories_removed
-- Forgets a scope's tree, with the memories that it shows: ARGV is the scope as a member, the tree's token, and how many
-- nodes at the most.
-- Answers 1 when there may be more.
local tree, most = tree_of(ARGV[1], ARGV[2], ''), tonumber(ARGV[3])
local wrong = wrong_tree(tree)
if wrong then return wrong end

local documents = following_uris(tree.documents, ROOT, '', most)
local directories = following_uris(tree.directories, ROOT, '', most)
local ids = viewed_ids(tree, documents)
wrong = wrong_ids(ids)
if wrong then return wrong end
drop_nodes(tree, documents, directories)
forget_ids(ids)
settle_tree(tree)
return (#documents == most or #directories == most) and 1 or 0
