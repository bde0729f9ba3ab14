-- with: tree, jobs, commits
-- Writes a session's commit: the document with its jobs, and which hash it has. ARGV is now, the tree's address, the
-- session's id, the hash, 'changed' to write only what the document doesn't hold already, then the document, the jobs.
-- Answers 'committed' or 'unchanged'; or 'kind_conflict' and where.
local now, tree, queue = tonumber(ARGV[1]), read_tree(2), queue_of(ARGV[2], ARGV[3])
local id, hash, only_changed = ARGV[5], ARGV[6], ARGV[7] == 'changed'
local documents, at = read_documents(8)
local jobs = read_jobs(at)
local uri = documents[1].uri
local wrong = wrong_tree(tree) or wrong_commits(tree.token) or wrong_jobs(queue, jobs)
  or refused_documents(tree, documents)
if wrong then return wrong end

local function holds_the_same()
  local number = record_of(node_of(tree, uri) or {})
  local wanted
  for place = 1, #documents[1].fields, 2 do
    if documents[1].fields[place] == 'content_hash' then wanted = documents[1].fields[place + 1] end
  end
  return number and redis.call('HGET', record_key(number), 'content_hash') == wanted
end

if only_changed and hash_of_commit(tree.token, id, uri) == hash and holds_the_same() then return { 'unchanged' } end

write_documents(tree, documents, ARGV[1])
put_commit(tree.token, id, uri, hash)
for _, job in ipairs(jobs) do enqueue(queue, job, now) end
settle_jobs(queue, now)
settle_tree(tree)
return { 'committed' }
