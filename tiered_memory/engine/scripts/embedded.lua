-- Stores the vectors of records that had none: ARGV is the vector's field, then for each its number, the revision that was
-- embedded, the vector, and '1' if only the text's beginning fitted into it. A record that was changed or forgotten
-- meanwhile is left as it is. Answers how many vectors were stored.
local field, fitting = ARGV[1], {}
local wrong = wrong_embedder(field)
if wrong then return wrong end
for at = 2, #ARGV, 4 do
  if redis.call('HGET', record_key(ARGV[at]), 'revision') == ARGV[at + 1] then fitting[#fitting + 1] = at end
end
for _, at in ipairs(fitting) do
  local name = record_key(ARGV[at])
  redis.call('HSET', name, field, ARGV[at + 2])
  redis.call('HDEL', name, 'to_embed')
  if ARGV[at + 3] ~= '' then redis.call('HSET', name, 'cut', ARGV[at + 3]) end
end
return #fitting
