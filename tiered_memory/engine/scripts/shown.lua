-- Documents of the tree that are views of what stands and waits at an id of a tier. A tier knows its views by the digests
-- of their ids: the URI, since when, what the view shows, and how the id was counted; and at '' the tree that has them.

-- What stands and waits at an id, in numbers.
local function counted_at(tier, digest)
  local slot, claims = redis.call('HGET', tier.slots, digest), redis.call('HGET', tier.claims, digest) or ''
  return {
    active = slot and 1 or 0,
    superseded = select(2, string.gsub(slot or '', ',', '')),
    candidate = select(2, string.gsub(claims, '%d+', '')),
    surfaced = redis.call('HEXISTS', tier.surfaced, digest),
  }
end

-- The number of the record that a document shows which is a view of an id, and the field of its status: what is active
-- there, else the newest that waits; nil when there is none, or it has expired.
local function shown_at(tier, digest)
  local slot, claims = redis.call('HGET', tier.slots, digest), redis.call('HGET', tier.claims, digest)
  local active = slot and string.match(slot, '^%d+')
  if active and redis.call('HEXISTS', record_key(active), 'text') == 1 then return active, 'active' end
  for number in string.gmatch(claims or '', '%d+') do
    if redis.call('HEXISTS', record_key(number), 'text') == 1 then return number, 'candidate' end
  end
end

-- The record that a view shows carries the tree's mark beside its tier's token, as long as the document is enabled.
local function mark_shown(tier, tree, uri, number, field)
  local enabled = redis.call('ZSCORE', key('enabled', tree.token), uri)
  local value = enabled and tier.token .. ',' .. tree.mark or tier.token
  if redis.call('HGET', record_key(number), field) ~= value then redis.call('HSET', record_key(number), field, value) end
end

-- A candidate that isn't shown any more, since something else is, loses the mark.
local function unmark_hidden(tier, number)
  local value = redis.call('HGET', record_key(number), 'candidate')
  if value and value ~= '' and value ~= tier.token then
    redis.call('HSET', record_key(number), 'candidate', tier.token)
  end
end

local function is_below(tree, kind, uri)
  return redis.call('ZLEXCOUNT', key(kind, tree.token), '[' .. uri .. '/', '(' .. uri .. '0') > 0
end

-- Takes a view out of the tree, if it still stands there; where something lies below it, a directory stays.
local function hide_view(tier, digest, tree, view)
  redis.call('HDEL', tier.views, digest)
  if redis.call('HLEN', tier.views) == 1 then redis.call('DEL', tier.views) end
  local nodes, uri = key('nodes', tree.token), view.uri
  local readable, node = pcall(cmsgpack.unpack, redis.call('HGET', nodes, uri) or '')
  if not readable or type(node) ~= 'table' or node.view ~= tier.token .. ':' .. digest then return end
  redis.call('ZREM', key('documents', tree.token), uri)
  redis.call('ZREM', key('enabled', tree.token), uri)
  if is_below(tree, 'documents', uri) or is_below(tree, 'directories', uri) then
    redis.call('HSET', nodes, uri, cmsgpack.pack({ created_at = view.since, off = node.off, group = node.group }))
    redis.call('ZADD', key('directories', tree.token), 0, uri)
  else
    redis.call('HDEL', nodes, uri)
    redis.call('ZREM', key('marked', tree.token), uri)
    hold(tier.member, -1)
  end
end

local function tally_view(tree, view, now)
  local memories, kind = key('memories', tree.token), string.match(view.uri, '^viking://user/memories/([^/]+)/')
  for status, number in pairs(now) do
    local change, name = number - (view[status] or 0), kind .. ':' .. status
    if change ~= 0 and redis.call('HINCRBY', memories, name, change) == 0 then redis.call('HDEL', memories, name) end
  end
end

-- Brings a document that is a view of an id in step with what stands and waits there.
local function refresh_view(tier, digest, tree)
  local value = redis.call('HGET', tier.views, digest)
  local readable, view = pcall(cmsgpack.unpack, value or '')
  if not value or not readable or type(view) ~= 'table' then return end
  local now = counted_at(tier, digest)
  tally_view(tree, view, now)
  if now.active + now.candidate == 0 then return hide_view(tier, digest, tree, view) end
  local number, field = shown_at(tier, digest)
  if view.shown and view.shown ~= number then unmark_hidden(tier, view.shown) end
  if number then mark_shown(tier, tree, view.uri, number, field) end
  now.uri, now.since, now.shown = view.uri, view.since, number
  redis.call('HSET', tier.views, digest, cmsgpack.pack(now))
end

settle_views = function()
  for tier, digests in pairs(touched) do
    local tree = not tier.notes and tree_beside(tier)
    for digest in pairs(tree and digests or {}) do refresh_view(tier, digest, tree) end
  end
  touched = {}
end
