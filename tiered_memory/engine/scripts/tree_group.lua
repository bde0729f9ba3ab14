-- with: tree
-- Gives a node and what lies below a group: ARGV is the tree's address, the URI and the group ('' for none).
-- Answers 1, or -1 when nothing stands there.
local tree, uri, group = read_tree(1), ARGV[4], ARGV[5]
local wrong = wrong_tree(tree)
if wrong then return wrong end
local node = node_of(tree, uri)
if not node then return -1 end

-- Below, no node has a group of its own any more; the node itself needs one only where it differs from what is above.
local marked = all_uris(tree.marked, uri)
local above = select(2, effective(tree, parent_of(uri)))
for _, each in ipairs(marked) do node_of(tree, each) end
for _, each in ipairs(marked) do
  local other = node_of(tree, each)
  if other.group then
    other.group = nil
    save_node(tree, each, other)
  end
end
node.group = group ~= above and group or nil
save_node(tree, uri, node)
return 1
