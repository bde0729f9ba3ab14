-- with: tree
-- Switches a node on or off, and with it what lies below: ARGV is the tree's address, the URI, and 'on' or 'off'.
-- Answers whether it is enabled in effect now, or -1 when nothing stands there.
local tree, uri, off = read_tree(1), ARGV[4], ARGV[5] == 'off'
local wrong = wrong_tree(tree)
if wrong then return wrong end
local node = node_of(tree, uri)
if not node then return -1 end

-- What can be searched is decided before anything is written, since a node may turn out not to be ours.
tree.plain = false
local before = effective(tree, uri)
local documents = all_uris(tree.documents, uri)
node.off = off or nil
tree.effects = {}
local after = effective(tree, uri)
local changed = {}
for _, each in ipairs(before ~= after and documents or {}) do
  local record, field = record_of(node_of(tree, each))
  if record and not is_hash_or_none(record_key(record)) then return corrupt_tree('a record') end
  if not after or effective(tree, each) then changed[#changed + 1] = { uri = each, record = record, field = field } end
end

save_node(tree, uri, node)
for _, each in ipairs(changed) do
  redis.call(after and 'ZADD' or 'ZREM', tree.enabled, unpack(after and { 0, each.uri } or { each.uri }))
  if each.field then
    local token = string.match(node_of(tree, each.uri).view, '^%x+')
    mark_shown({ token = token }, tree, each.uri, each.record, each.field)
  elseif each.record then
    local fields = after and { 'active', tree.mark } or { 'active' }
    redis.call(after and 'HSET' or 'HDEL', record_key(each.record), unpack(fields))
  end
end
return after and 1 or 0
