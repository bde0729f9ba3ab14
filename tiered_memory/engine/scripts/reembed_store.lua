-- with: reembed
-- Stores the vectors of records that are still found by the words which were embedded: ARGV is the field, then for each
-- the record's key, what tells its words from any other, the vector, and '1' where only the beginning was embedded.
-- Answers the keys of those that were stored.
local field, found = ARGV[1], {}
for at = 2, #ARGV, 4 do
  local record, state, vector, cut = unpack(ARGV, at, at + 3)
  if words_of(record) == state then found[#found + 1] = { record, vector, cut } end
end

local stored = {}
for place, each in ipairs(found) do
  local record, vector, cut = unpack(each)
  redis.call('HDEL', record, 'cut_next')
  redis.call('HSET', record, field, vector, unpack(cut == '1' and { 'cut_next', cut } or {}))
  stored[place] = record
end
return stored
