#!lua flags=no-writes
-- with: tree
-- Reads a part of a tree as an archive has it: ARGV is the tree's address, 'directories' or 'documents', the URI to go on
-- after ('' at first), how many nodes and about how many bytes at the most, then the names of fields.
-- Answers where to go on ('' at the end), then for each its URI, 'off' where it is switched off itself, its own group,
-- when a directory was made, the token of the tier that a document is a view of, and the values of its fields.
local tree, kind, after, most, bytes = read_tree(1), ARGV[4], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local fields = { unpack(ARGV, 8) }
local found = {}

local function values_of(node)
  if not node.record then return {} end
  local values = redis.call('HMGET', record_key(node.record), unpack(fields))
  for _, value in ipairs(values) do bytes = bytes - #(value or '') end
  return values
end

local uris = following_uris(tree[kind], ROOT, after, most)
local last = ''
for _, uri in ipairs(uris) do
  if bytes <= 0 then break end
  local node = node_of(tree, uri)
  local view = node and string.match(node.view or '', '^%x+') or ''
  if node then
    found[#found + 1] = { uri, node.off and 'off' or '', node.group or '', node.created_at or '', view, values_of(node) }
  end
  last = uri
end
local ended = #uris < most and last == (uris[#uris] or '')
return { ended and '' or last, found }
