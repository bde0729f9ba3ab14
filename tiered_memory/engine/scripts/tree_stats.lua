#!lua flags=no-writes
-- with: tree
-- Counts a tree: ARGV is the tree's address. Answers how many documents and directories there are, then the first
-- segment of URIs and how many documents lie there, one after the other; one may come twice.
local tree = read_tree(1)
local counts = {}
local first, last = bounds_below(ROOT)
while true do
  local uri = redis.call('ZRANGE', tree.documents, first, last, 'BYLEX', 'LIMIT', 0, 1)[1]
  if not uri then break end
  local segment = string.match(string.sub(uri, #ROOT + 1), '^[^/]+')
  local top = ROOT .. segment
  counts[#counts + 1], counts[#counts + 2] = segment, count_uris(tree.documents, top)
  first = uri == top and '(' .. top or '[' .. top .. '0'
end
return { redis.call('ZCARD', tree.documents), redis.call('ZCARD', tree.directories), counts }
