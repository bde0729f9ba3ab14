#!lua flags=allow-oom
-- with: reembed
-- Removes vectors that nobody reads any more: ARGV is the field in force, the index, how many records to look at at the
-- most, and the other fields. Answers how many records had such vectors; 0 at the end.
local field, index, most = unpack(ARGV)
local wrong = wrong_embedder(field)
if wrong then return wrong end
local queries, fields = {}, { unpack(ARGV, 4) }
for place, name in ipairs(fields) do queries[place] = '(-ismissing(@' .. name .. '))' end
local rows = rows_of(index, table.concat(queries, ' | '), 0, most)
for _, record in ipairs(rows) do
  local cut = redis.call('HGET', record, 'cut_next')
  redis.call('HDEL', record, 'cut', 'cut_next', unpack(fields))
  if cut then redis.call('HSET', record, 'cut', cut) end
end
return #rows
