-- with: tree, jobs, jobs_removal, commits, commits_removed, memories_removed
-- Replaces what stands at a URI and below by documents, wholly or not at all: ARGV is now, the tree's address, the URI, the
-- documents, the jobs. The URI stays switched off if it was, and in its group. Answers whether something stood there.
local now, tree, uri = ARGV[1], read_tree(2), ARGV[5]
local documents, at = read_documents(6)
local jobs, queue = read_jobs(at), queue_of(tree.member, tree.token)

-- Looks at what will be read and written when the old is gone.
local function wrong_replacement()
  local number = tonumber(redis.call('GET', sequence) or 0)
  for place in ipairs(documents) do
    if not is_hash_or_none(record_key(string.format('%.0f', number + place))) then return corrupt_tree('a record') end
  end
  local above = uri
  while above do
    node_of(tree, above)
    above = parent_of(above)
  end
  for _, each in ipairs(all_uris(tree.documents, uri)) do node_of(tree, each) end
end

local wrong = wrong_tree(tree) or wrong_removal(tree, uri) or wrong_jobs(queue, jobs) or wrong_replacement()
if wrong then return wrong end

local old = node_of(tree, uri)
remove_subtree(tree, uri)
if old then
  redis.call('ZADD', tree.directories, 0, uri)
  save_node(tree, uri, { created_at = old.created_at or now, off = old.off, group = old.group })
  tree.change = tree.change + 1
end
write_documents(tree, documents, now)
settle_tree(tree)
for _, job in ipairs(jobs) do enqueue(queue, job, tonumber(now)) end
settle_jobs(queue, tonumber(now))
return old and 1 or 0
