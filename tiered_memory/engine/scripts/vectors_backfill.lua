-- with: tree, jobs
-- Enqueues the embedding of documents that have no vector and for which it isn't under way: ARGV is now, the tree's
-- address, the vector's field, the URI to go on after ('' at first), and how many documents to look at.
-- Answers where to go on from ('' at the end), and how many jobs were enqueued.
local now, tree, field, after, most = tonumber(ARGV[1]), read_tree(2), ARGV[5], ARGV[6], tonumber(ARGV[7])
local queue, jobs = queue_of(tree.member, tree.token), {}

local function under_way(uri, content_hash)
  local own = uri_ranges(uri)[1]
  for _, status in ipairs({ 'pending', 'running' }) do
    for _, job in ipairs(jobs_between(queue, status, own[1], own[2], -1)) do
      if job.kind == 'embed' and job.content_hash == content_hash then return true end
    end
  end
  return false
end

local uris = following_uris(tree.documents, ROOT, after, most)
for _, uri in ipairs(uris) do
  local number = node_of(tree, uri).record
  local record = number and record_key(number)
  if record and redis.call('HEXISTS', record, field) == 0 and redis.call('HSTRLEN', record, 'text') > 0 then
    local content_hash = redis.call('HGET', record, 'content_hash') or ''
    if not under_way(uri, content_hash) then
      local payload = cjson.encode({ uri = uri, content_hash = content_hash })
      jobs[#jobs + 1] = { kind = 'embed', payload = payload, uri = uri, content_hash = content_hash }
    end
  end
end
local wrong = wrong_jobs(queue, jobs)
if wrong then return wrong end
for _, job in ipairs(jobs) do enqueue(queue, job, now) end
settle_jobs(queue, now)
return { #uris >= most and uris[#uris] or '', #jobs }
