-- How a scope's tree lies: URIs of documents and of directories each in a sorted set, in the order of their bytes; a
-- hash URI to node, packed. A node is a document with the number of its `record`, or a `view` of what a memory's `tier`
-- has at an id, as its token and the id's digest; or a directory with the time of its making, `created_at`. One that is switched off itself, or has a group of its own, says
-- so at `off` and `group`, and is among the marked. Documents that are enabled in effect are a third sorted set.
local ROOT = 'viking://'
local PART = 1000 -- how many values one command is given at the most, since Lua's stack is bounded

-- A scope's tree: the scope as a member of the scopes, the tree's token, and what marks the records of its documents.
local function tree_of(member, token, mark)
  local tree = { member = member, token = token, mark = mark, known = {}, effects = {}, planned = {}, change = 0 }
  for kind in pairs(tree_kinds) do tree[kind] = key(kind, token) end
  return tree
end

local function read_tree(at) return tree_of(ARGV[at], ARGV[at + 1], ARGV[at + 2]) end

local function corrupt_tree(what) return redis.error_reply('CORRUPT ' .. what .. ' is not as we wrote it') end

local function is_whole(value) return not value or string.match(value, '^%-?%d+$') ~= nil end

-- Looks at every key of the tree that a script may write, before it writes any.
local function wrong_tree(tree)
  for kind, wanted in pairs(tree_kinds) do
    local found = redis.call('TYPE', tree[kind]).ok
    if found ~= 'none' and found ~= wanted then return corrupt_tree('the key ' .. kind .. ' of a tree') end
  end
  local wrong = wrong_shared_type()
  if wrong then return wrong end
  if not is_whole(redis.call('GET', sequence)) then return corrupt_tree('the sequence') end
  if not is_whole(redis.call('HGET', holding, tree.member)) then return corrupt_tree('what a scope holds') end
end

-- What must be done once at the end of a script that writes: a scope is held by each of its nodes.
local function settle_tree(tree)
  if tree.change ~= 0 then hold(tree.member, tree.change) end
  tree.change = 0
end

-- Calls visit with up to PART values of a list at a time.
local function in_parts(list, visit)
  for first = 1, #list, PART do visit(unpack(list, first, math.min(first + PART - 1, #list))) end
end

local function is_root(uri) return uri == ROOT end

local function parent_of(uri)
  if is_root(uri) then return nil end
  local above = string.match(uri, '^(.+)/[^/]+$')
  return above == 'viking:/' and ROOT or above
end

-- Where the URIs below a URI begin and end: '0' is the character after the slash.
local function bounds_below(uri)
  local base = is_root(uri) and 'viking:/' or uri
  return '[' .. base .. '/', '(' .. base .. '0'
end

-- Up to `most` URIs of a sorted set that are `under` or below it and come after `after` ('' for all), in their order.
local function following_uris(set, under, after, most)
  local first, last = bounds_below(under)
  local own = after == '' and not is_root(under) and redis.call('ZSCORE', set, under)
  if after ~= '' and after ~= under then first = '(' .. after end
  local found = redis.call('ZRANGE', set, first, last, 'BYLEX', 'LIMIT', 0, most)
  if own then table.insert(found, 1, under) end
  return found
end

local function all_uris(set, under) return following_uris(set, under, '', -1) end

local function count_uris(set, under)
  local own = not is_root(under) and redis.call('ZSCORE', set, under) and 1 or 0
  return own + redis.call('ZLEXCOUNT', set, bounds_below(under))
end

-- What stands at a URI, or nil.
local function node_of(tree, uri)
  if tree.known[uri] == nil then
    local value = redis.call('HGET', tree.nodes, uri)
    local readable, node = true, false
    if value then readable, node = pcall(cmsgpack.unpack, value) end
    local ours = not value or type(node) == 'table' and (node.record or node.view or node.created_at)
    if not readable or not ours then error(corrupt_tree('a node of a tree')) end
    tree.known[uri] = node
  end
  return tree.known[uri] or nil
end

local function save_node(tree, uri, node)
  tree.known[uri] = node
  redis.call('HSET', tree.nodes, uri, cmsgpack.pack(node))
  if node.off or node.group then redis.call('ZADD', tree.marked, 0, uri) else redis.call('ZREM', tree.marked, uri) end
end

local function is_document(node) return node ~= nil and (node.record or node.view) ~= nil end

-- The number of the record that a document's text lies in, or nil: of a view, what is active in its slot, else the
-- newest that waits there.
local function record_of(node)
  if node.record then return node.record end
  local token, digest = string.match(node.view or '', '^(%x+):(%x+)$')
  if token then return shown_at({ slots = key('slots', token), claims = key('claims', token) }, digest) end
end

-- Whether what stands at a URI, or would, is enabled in effect, and its group: what the nearest node says.
local function effective(tree, uri)
  if tree.plain == nil then tree.plain = redis.call('EXISTS', tree.marked) == 0 end
  if tree.plain then return true, '' end
  local known = tree.effects[uri]
  if known then return known.enabled, known.group end
  local enabled, group = true, ''
  local above, node = parent_of(uri), node_of(tree, uri)
  if above then enabled, group = effective(tree, above) end
  if node and node.off then enabled = false end
  if node and node.group then group = node.group end
  tree.effects[uri] = { enabled = enabled, group = group }
  return enabled, group
end

-- What every answer about a node begins with: its kind, whether it is enabled in effect, and its group.
local function described(tree, uri, node)
  local enabled, group = effective(tree, uri)
  return { is_document(node) and 'doc' or 'dir', enabled and 1 or 0, group }
end

local function vectors_of(number)
  local found = {}
  for _, name in ipairs(redis.call('HKEYS', record_key(number))) do
    if string.sub(name, 1, 7) == 'vector_' then found[#found + 1] = name end
  end
  return found
end

-- Takes off a record's vectors, so that it isn't found by what it doesn't say any more.
local function retire_vectors(number)
  local names = vectors_of(number)
  if #names > 0 then redis.call('HDEL', record_key(number), unpack(names)) end
end

-- Reads the documents of a write from ARGV: their number, then for each its URI, the number of fields to set, their
-- names and values, the number of fields to drop and their names. Answers them, and the place behind.
local function read_documents(at)
  local documents = {}
  for place = 1, tonumber(ARGV[at]) do
    local last = at + 2 + 2 * tonumber(ARGV[at + 2])
    local dropped = tonumber(ARGV[last + 1])
    documents[place] = {
      uri = ARGV[at + 1],
      fields = { unpack(ARGV, at + 3, last) },
      dropped = { unpack(ARGV, last + 2, last + 1 + dropped) },
    }
    at = last + dropped + 1
  end
  return documents, at + 1
end

-- The nearest URI above that something stands at, or nil.
local function nearest_above(tree, uri)
  local above = parent_of(uri)
  while above and not node_of(tree, above) do above = parent_of(above) end
  return above
end

local function is_hash_or_none(name)
  local found = redis.call('TYPE', name).ok
  return found == 'none' or found == 'hash'
end

-- Why these documents can't be written, or nil. Where one shall stand there may be none yet, or a document of its own,
-- not a directory and not a memory. Reads whatever writing needs to know, since it may turn out not to be ours.
local function refused_documents(tree, documents)
  local number = tonumber(redis.call('GET', sequence) or 0)
  for place, document in ipairs(documents) do
    local node = node_of(tree, document.uri)
    if node and not node.record then return { 'kind_conflict', document.uri } end
    local own = node and node.record or string.format('%.0f', number + place)
    if not is_hash_or_none(record_key(own)) then return corrupt_tree('a record') end
    effective(tree, document.uri)
    nearest_above(tree, document.uri)
    tree.planned[document.uri] = true
  end
end

-- Makes the directories above a URI that are missing; what else this write puts there is made in its turn.
local function make_directories(tree, uri, now)
  local above = parent_of(uri)
  while above and not node_of(tree, above) and not tree.planned[above] do
    redis.call('ZADD', tree.directories, 0, above)
    save_node(tree, above, { created_at = now })
    tree.change = tree.change + 1
    above = parent_of(above)
  end
end

local function add_document(tree, uri, node, now)
  make_directories(tree, uri, now)
  redis.call('ZADD', tree.documents, 0, uri)
  save_node(tree, uri, node)
  tree.change = tree.change + 1
  if effective(tree, uri) then redis.call('ZADD', tree.enabled, 0, uri) end
end

-- One command each for what goes and for what comes, since every change of a record indexes it anew.
local function write_record(tree, document, number, now, is_new)
  local fields, dropped = document.fields, document.dropped
  if not is_new then
    for _, name in ipairs(vectors_of(number)) do dropped[#dropped + 1] = name end
    if #dropped > 0 then redis.call('HDEL', record_key(number), unpack(dropped)) end
  end
  if is_new or redis.call('HEXISTS', record_key(number), 'created_at') == 0 then
    fields[#fields + 1], fields[#fields + 2] = 'created_at', now
  end
  fields[#fields + 1], fields[#fields + 2] = 'updated_at', now
  if effective(tree, document.uri) then fields[#fields + 1], fields[#fields + 2] = 'active', tree.mark end
  redis.call('HSET', record_key(number), unpack(fields))
end

-- Writes documents that weren't refused, with the directories above them; answers 'created' or 'replaced' for each.
local function write_documents(tree, documents, now)
  local outcomes = {}
  local number = redis.call('INCRBY', sequence, #documents) - #documents
  for place, document in ipairs(documents) do
    local node = node_of(tree, document.uri)
    outcomes[place] = node and 'replaced' or 'created'
    if not node then
      number = number + 1
      add_document(tree, document.uri, { record = string.format('%.0f', number) }, now)
    end
    write_record(tree, document, node_of(tree, document.uri).record, now, not node)
  end
  tree.planned = {}
  return outcomes
end

-- What else must go with a subtree: whoever keeps something by URI adds `wrong(tree, uri)`, which answers an error
-- reply or nil before anything is written, and `remove(tree, uri)`.
local on_remove = {}

local function wrong_removal(tree, uri)
  for _, each in ipairs(on_remove) do
    local wrong = each.wrong(tree, uri)
    if wrong then return wrong end
  end
end

local function drop_nodes(tree, documents, directories)
  local records = {}
  for _, uri in ipairs(documents) do
    local node = node_of(tree, uri)
    if node and node.record then records[#records + 1] = record_key(node.record) end
  end
  in_parts(records, function(...) redis.call('UNLINK', ...) end)
  for kind, uris in pairs({ documents = documents, directories = directories }) do
    in_parts(uris, function(...)
      redis.call('ZREM', tree[kind], ...)
      redis.call('ZREM', tree.enabled, ...)
      redis.call('ZREM', tree.marked, ...)
      redis.call('HDEL', tree.nodes, ...)
    end)
  end
  tree.known, tree.effects, tree.change = {}, {}, tree.change - #documents - #directories
end

-- Removes what stands at a URI and below it from everything that is kept by URI; answers how many documents went.
local function remove_subtree(tree, uri)
  local documents = all_uris(tree.documents, uri)
  drop_nodes(tree, documents, all_uris(tree.directories, uri))
  for _, each in ipairs(on_remove) do each.remove(tree, uri) end
  return #documents
end
