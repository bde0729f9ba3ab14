-- Memories that are documents of the tree, too: which of a batch, at the end of ARGV: the tree's address, their number,
-- for each the place of its item, its URI, and the number of its jobs; then all jobs, and the place where this begins.
in_tree.first = tonumber(ARGV[#ARGV])
local tree, views, places = read_tree(in_tree.first), {}, {}
local tree_queue = queue_of(tree.member, tree.token)
local after_views = in_tree.first + 4 + 3 * tonumber(ARGV[in_tree.first + 3])
for each = in_tree.first + 4, after_views - 1, 3 do
  local view = { place = tonumber(ARGV[each]), uri = ARGV[each + 1], jobs = tonumber(ARGV[each + 2]) }
  views[#views + 1], places[view.place] = view, view
end
local view_jobs = read_jobs(after_views)
in_tree.jobs = view_jobs

function in_tree.wrong() return wrong_tree(tree) or #view_jobs > 0 and wrong_jobs(tree_queue, view_jobs) end

-- Whether a document of its own stands where a memory should be one. Reads all that showing it will need, so that what
-- isn't ours is found before anything is written.
local function is_taken(uri)
  local node, above = node_of(tree, uri), parent_of(uri)
  while above do
    node_of(tree, above)
    above = parent_of(above)
  end
  return node ~= nil and node.record ~= nil
end

function in_tree.refused()
  for _, view in ipairs(views) do
    if is_taken(view.uri) then return { 'kind_conflict', view.uri } end
  end
end

function in_tree.is_taken(place) return places[place] ~= nil and is_taken(places[place].uri) end

-- Makes a view of an id where there is none; a directory that stands there becomes one, and keeps its marks.
local function show_view(tier, digest, uri, now)
  if redis.call('HEXISTS', tier.views, digest) == 1 then return end
  if not tree_beside(tier) then
    tier.beside = { token = tree.token, mark = tree.mark }
    redis.call('HSET', tier.views, '', cmsgpack.pack(tier.beside))
  end
  local there = node_of(tree, uri)
  local node = { view = tier.token .. ':' .. digest, tier = tier.name }
  if not there then
    add_document(tree, uri, node, now)
  else
    node.off, node.group = there.off, there.group
    save_node(tree, uri, node)
    redis.call('ZREM', tree.directories, uri)
    redis.call('ZADD', tree.documents, 0, uri)
    if effective(tree, uri) then redis.call('ZADD', tree.enabled, 0, uri) end
  end
  redis.call('HSET', tier.views, digest, cmsgpack.pack({ uri = uri, since = now }))
  touch(tier, digest)
end

-- Shows the memories of a batch that have become something, and enqueues the jobs of those that say something new.
function in_tree.show(items, outcomes)
  local now, job = ARGV[1], 0
  for _, view in ipairs(views) do
    local item, outcome = items[view.place], outcomes[view.place]
    if outcome ~= 'conflict' and outcome ~= 'expired' then show_view(item.tier, item.digest, view.uri, now) end
    for each = job + 1, job + view.jobs do
      if is_news[outcome] then enqueue(tree_queue, view_jobs[each], tonumber(now)) end
    end
    job = job + view.jobs
  end
  settle_tree(tree)
  settle_jobs(tree_queue, tonumber(now))
end
