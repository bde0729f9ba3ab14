-- with: tree, jobs, results
-- Stores a layer that a job has made, and completes the job: ARGV is now, the tree's address, the job's number, the
-- URI, the layer's name, its text, and its folded copy ('' for none). Answers what `deliver` does.
local now, tree, number, uri, layer, text, folded = tonumber(ARGV[1]), read_tree(2), unpack(ARGV, 5, 9)

return deliver(tree, number, uri, now, function(record, content_hash)
  if redis.call('HGET', record, layer .. '_by') == 'caller' then return 'supplied' end
  local fields = { layer, text, layer .. '_of', content_hash, layer .. '_by', 'job' }
  if folded == '' then
    redis.call('HDEL', record, 'folded_' .. layer)
  else
    fields[7], fields[8] = 'folded_' .. layer, folded
  end
  redis.call('HSET', record, unpack(fields))
end)
