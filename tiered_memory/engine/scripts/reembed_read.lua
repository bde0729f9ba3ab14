#!lua flags=no-writes
-- with: reembed
-- Reads records that have no vector in a field: ARGV is the index, the field, how many of them to pass over, how many
-- to read at the most, and how many bytes of texts are enough. Answers whether there are more, then for each its key and,
-- unless it is gone, what tells its words from any other, text, metadata, id, scope, and the token of its tier.
local index, field, offset, most, enough = unpack(ARGV)
local rows = rows_of(index, 'ismissing(@' .. field .. ')', offset, most)
local found, size = {}, 0
for _, record in ipairs(rows) do
  if size >= tonumber(enough) then break end
  local state, text, metadata = words_of(record)
  if state then
    local id, scope, active, candidate, superseded =
      unpack(redis.call('HMGET', record, 'id', 'scope', 'active', 'candidate', 'superseded'))
    local tokens = (active or '') .. (candidate or '') .. (superseded or '')
    found[#found + 1] = { record, state, text, metadata, id, scope, string.sub(tokens, 1, 32) }
    size = size + #text
  else
    found[#found + 1] = { record }
  end
end
return { (#rows == tonumber(most) or #found < #rows) and 1 or 0, found }
