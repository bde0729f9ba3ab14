-- with: tree, jobs, results
-- Stores the vector that a job has made, and completes the job: ARGV is now, the tree's address, the job's number, the
-- URI, the vector's field, the vector. Answers what `deliver` does.
local now, tree, number, uri, field, vector = tonumber(ARGV[1]), read_tree(2), unpack(ARGV, 5, 8)

local wrong = wrong_embedder(field)
if wrong then return wrong end
return deliver(tree, number, uri, now, function(record)
  redis.call('HSET', record, field, vector)
end)
