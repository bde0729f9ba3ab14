-- with: tree, jobs
-- Writes documents and their jobs, wholly or not at all: ARGV is now, the tree's address, the documents, the jobs.
-- Answers 'written', for each document whether it was 'created' or 'replaced', and the jobs' numbers; or
-- 'kind_conflict' and where.
local now, tree = ARGV[1], read_tree(2)
local documents, at = read_documents(5)
local jobs, queue = read_jobs(at), queue_of(tree.member, tree.token)
local refused = wrong_tree(tree) or refused_documents(tree, documents) or #jobs > 0 and wrong_jobs(queue, jobs)
if refused then return refused end

local outcomes, numbers = write_documents(tree, documents, now), {}
settle_tree(tree)
for place, job in ipairs(jobs) do numbers[place] = tonumber(enqueue(queue, job, tonumber(now))) end
settle_jobs(queue, tonumber(now))
return { 'written', outcomes, numbers }
