-- What a record is found by: its text and its metadata; and what tells them from any other, or nil where there is none.
local function words_of(record)
  local text, metadata = unpack(redis.call('HMGET', record, 'text', 'metadata'))
  return text and redis.sha1hex(text .. '\0' .. (metadata or '')), text, metadata or ''
end

-- The keys of up to `most` rows that a query finds, behind the first `offset` ones.
local function rows_of(index, query, offset, most)
  local reply = redis.call('FT.AGGREGATE', index, query, 'LOAD', 1, '@__key', 'LIMIT', offset, most, 'TIMEOUT', 0, 'DIALECT', 2)
  local found = {}
  for place = 2, #reply do found[#found + 1] = reply[place][2] end
  return found
end
