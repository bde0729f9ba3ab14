-- with: tree, jobs
-- Writes nodes of a tree as an archive has them, where nothing stands, with the jobs of new documents: ARGV is now, the
-- tree's address, the number of nodes, for each
--   its URI, 'dir', 'doc' or 'view', 'off' where it is switched off itself, its own group, when it was created and last
--   written, the hashes of the contents that its abstract and its overview were made for,
-- then the documents among them, in their order, and the jobs. An absent value is the empty text.
-- Answers for each node 'imported', 'skipped' (the same stands there) or 'conflict'.
local now, tree, queue = tonumber(ARGV[1]), read_tree(2), queue_of(ARGV[2], ARGV[3])
local layout = { 'uri', 'kind', 'off', 'group', 'created_at', 'updated_at', 'abstract_of', 'overview_of' }
local nodes, at = {}, 6
for place = 1, tonumber(ARGV[5]) do
  local node = {}
  for offset, name in ipairs(layout) do node[name] = ARGV[at + offset - 1] end
  nodes[place] = node
  at = at + #layout
end
local documents, after = read_documents(at)
local jobs = read_jobs(after)
local next_document = 0
for _, node in ipairs(nodes) do
  if node.kind == 'doc' then
    next_document = next_document + 1
    node.document = documents[next_document]
  end
end

local function marked_as(node, off, group) return (node.off and 'off' or '') == off and (node.group or '') == group end

local function says_the_same(number, document)
  for place = 1, #document.fields, 2 do
    local name = document.fields[place]
    local compared = name == 'content_hash' or name == 'abstract' or name == 'overview'
    if compared and redis.call('HGET', record_key(number), name) ~= document.fields[place + 1] then return false end
  end
  return true
end

-- What becomes of a node; writes nothing.
local function look_at(wanted)
  local node = node_of(tree, wanted.uri)
  effective(tree, wanted.uri)
  if not node then return 'imported' end
  local kind = node.view and 'view' or node.record and 'doc' or 'dir'
  local fits = kind == wanted.kind or kind == 'dir' and wanted.kind == 'view'
  if not fits or not marked_as(node, wanted.off, wanted.group) then return 'conflict' end
  return (kind ~= 'doc' or says_the_same(node.record, wanted.document)) and 'skipped' or 'conflict'
end

local function stamp(number, wanted)
  for _, name in ipairs({ 'created_at', 'abstract_of', 'overview_of' }) do
    if wanted[name] ~= '' then redis.call('HSET', record_key(number), name, wanted[name]) end
  end
end

-- A view comes with its memory; until then its marks are those of a directory in its place.
local function write(wanted)
  local node = { off = wanted.off ~= '' or nil, group = wanted.group ~= '' and wanted.group or nil }
  if wanted.kind == 'view' and not node.off and not node.group then return end
  if wanted.kind ~= 'doc' then
    make_directories(tree, wanted.uri, ARGV[1])
    node.created_at = wanted.created_at ~= '' and wanted.created_at or ARGV[1]
    redis.call('ZADD', tree.directories, 0, wanted.uri)
    save_node(tree, wanted.uri, node)
    tree.change = tree.change + 1
  else
    node.record = string.format('%.0f', redis.call('INCR', sequence))
    add_document(tree, wanted.uri, node, ARGV[1])
    write_record(tree, wanted.document, node.record, wanted.updated_at, true)
    stamp(node.record, wanted)
  end
end

local wrong = wrong_tree(tree) or wrong_jobs(queue, jobs)
if wrong then return wrong end
local number = tonumber(redis.call('GET', sequence) or 0)
for place, node in ipairs(nodes) do
  look_at(node) -- raises, before anything is written, where a node isn't ours
  if not is_hash_or_none(record_key(string.format('%.0f', number + place))) then return corrupt_tree('a record') end
end

local outcomes, imported = {}, {}
for place, node in ipairs(nodes) do
  outcomes[place] = look_at(node)
  if outcomes[place] == 'imported' then
    imported[node.uri] = true
    write(node)
  end
end
for _, job in ipairs(jobs) do
  if imported[job.uri] then enqueue(queue, job, now) end
end
settle_jobs(queue, now)
settle_tree(tree)
return outcomes
