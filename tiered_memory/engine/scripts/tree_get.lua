#!lua flags=no-writes
-- with: tree
-- Reads nodes: ARGV is the tree's address, how many bytes of a text are wanted ('' for all), the number of fields,
-- their names, then URIs. Answers for each nothing, or its kind, whether it is enabled, its group, and the values of a
-- document's fields or when a directory was made.
local tree, longest, count = read_tree(1), tonumber(ARGV[4]), tonumber(ARGV[5])
local fields = { unpack(ARGV, 6, 5 + count) }
local found = {}

local function values(node)
  local number = record_of(node)
  local read = number and redis.call('HMGET', record_key(number), unpack(fields)) or {}
  for place, name in ipairs(fields) do
    if longest and name == 'text' and read[place] then read[place] = string.sub(read[place], 1, longest) end
  end
  return read
end

for place = 6 + count, #ARGV do
  local node, row = node_of(tree, ARGV[place]), {}
  if node and (not node.view or record_of(node)) then
    row = described(tree, ARGV[place], node)
    row[4] = is_document(node) and values(node) or node.created_at
  end
  found[#found + 1] = row
end
return found
