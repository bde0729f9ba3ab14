#!lua flags=no-writes
-- with: tree
-- Names what stands directly below a directory: ARGV is the tree's address, its URI, 'documents' or 'directories', the
-- name to go on after ('' at first), and how many names at the most.
-- Answers what stands there ('' for nothing), and the names. Whatever lies deeper is passed over at once: its URIs
-- begin with a name and a slash, and '0' comes after the slash.
local tree, uri, after, most = read_tree(1), ARGV[4], ARGV[6], tonumber(ARGV[7])
local node, set = node_of(tree, uri), tree[ARGV[5]]
if not node then return { '', {} } end
if is_document(node) then return { 'doc', {} } end

local base = is_root(uri) and ROOT or uri .. '/'
local first, last = bounds_below(uri)
first = '(' .. base .. after
local names = {}
repeat
  local deeper = false
  local found = redis.call('ZRANGE', set, first, last, 'BYLEX', 'LIMIT', 0, math.min(100, most - #names))
  for _, each in ipairs(found) do
    local name = string.match(string.sub(each, #base + 1), '^[^/]+')
    if base .. name == each then
      names[#names + 1] = name
      first = '(' .. each
    else
      first, deeper = '[' .. base .. name .. '0', true
      break
    end
  end
until #names >= most or (#found == 0 and not deeper)
return { 'dir', names }
