-- What jobs have made for documents: stored only if it was made from what still stands there.

-- The key of the record that a result belongs to, or nil and why it isn't wanted.
local function result_record(tree, uri, content_hash)
  local node = node_of(tree, uri)
  local number = is_document(node) and record_of(node)
  if not number then return nil, 'gone' end
  local current = redis.call('HGET', record_key(number), 'content_hash')
  if content_hash ~= '' and current ~= content_hash then return nil, 'changed' end
  return record_key(number)
end

-- Completes a job, and has its result stored if it is wanted: store(record, content_hash) may still answer why not.
-- Answers '' when it is stored, else why not; 'another' when the job is one of another URI, which changes nothing.
local function deliver(tree, number, uri, now, store)
  local queue = queue_of(tree.member, tree.token)
  local wrong = wrong_tree(tree) or wrong_jobs(queue)
  if wrong then return wrong end
  local job = job_at(queue, number)
  if not job or job.status == 'done' then return 'cancelled' end
  if job.uri ~= '' and job.uri ~= uri then return 'another' end
  local record, refused = result_record(tree, uri, job.content_hash)
  if record then refused = store(record, redis.call('HGET', record, 'content_hash') or '') end
  complete_job(queue, number, now)
  settle_jobs(queue, now)
  return refused or ''
end
