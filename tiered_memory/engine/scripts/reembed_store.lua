-- with: reembed
-- Stores the vectors of records that are still found by the words which were embedded: ARGV is the field, then for each
-- the record's key, what tells its words from any other, the vector, and '1' where only the beginning was embedded.
-- Answers the keys of those that were stored.
local field, found = ARGV[1], {}
for at = 2, #ARGV, 4 do
  local record, state, vector, cut = unpack(ARGV, at, at + 3)
  if words_of(record) == state then found[#found + 1] = { record, vector, cut } end
end

-- Where another vector says whether it was cut, that of this one waits for the others to be removed.
local function cut_field(record)
  for _, name in ipairs(redis.call('HKEYS', record)) do
    if is_vector(name) and name ~= field then return 'cut_next' end
  end
  return 'cut'
end

local stored = {}
for place, each in ipairs(found) do
  local record, vector, cut = unpack(each)
  local name = cut_field(record)
  redis.call('HDEL', record, name)
  redis.call('HSET', record, field, vector, unpack(cut == '1' and { name, cut } or {}))
  stored[place] = record
end
return stored
