#!lua flags=no-writes
-- with: tree
-- Lists documents in the order of their URIs: ARGV is the tree's address, 'documents' or 'enabled', the URI that they
-- are or lie below, the URI to go on after ('' at first), how many to pass over and how many at the most.
-- Answers how many there are, and for each its URI, whether it is enabled, and its group.
local tree, under, after, offset, limit = read_tree(1), ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
local set = tree[ARGV[4]]
local first, last = bounds_below(under)

-- Places are counted by rank, so that a page costs the same wherever it begins.
local uris = {}
if after == '' and not is_root(under) and redis.call('ZSCORE', set, under) then
  if offset == 0 then uris[1] = under end
  offset = math.max(0, offset - 1)
end
local exclusive = '(' .. string.sub(first, 2)
local start = redis.call('ZLEXCOUNT', set, '-', (after == '' or after == under) and exclusive or '[' .. after) + offset
local stop = math.min(start + limit - #uris, redis.call('ZLEXCOUNT', set, '-', last)) - 1
if stop >= start then
  for _, uri in ipairs(redis.call('ZRANGE', set, start, stop)) do uris[#uris + 1] = uri end
end

local rows = {}
for place, uri in ipairs(uris) do
  local enabled, group = effective(tree, uri)
  rows[place] = { uri, enabled and 1 or 0, group }
end
return { count_uris(set, under), rows }
