#!lua flags=allow-oom
-- with: tree
-- Looks for rows of the index that are no document of the tree: ARGV is the tree's address, the index, how many rows to
-- pass over, how many to look at, and 'drop' to drop the others. Answers how many rows to pass over next (-1 at the end),
-- and how many of those that were looked at are no documents.
local tree, index, offset, most = read_tree(1), ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])

-- A memory's row is for its tier to drop, whether there is a document that shows it or not.
local function is_stray(name, uri)
  local node = uri and node_of(tree, uri)
  local number = node and record_of(node)
  return (not number or record_key(number) ~= name) and redis.call('HEXISTS', name, 'id') == 0
end

local reply = redis.call('FT.SEARCH', index, '@active:{$token} | @candidate:{$token}', 'PARAMS', 2, 'token', tree.mark, 'LIMIT', offset, most,
  'RETURN', 1, 'uri', 'TIMEOUT', 0, 'DIALECT', 2)
local seen, strays = (#reply - 1) / 2, {}
for place = 2, #reply, 2 do
  local fields = reply[place + 1]
  if fields and is_stray(reply[place], fields[2]) then strays[#strays + 1] = reply[place] end
end
if ARGV[7] == 'drop' then
  in_parts(strays, function(...) redis.call('UNLINK', ...) end)
  offset = offset - #strays
end
return { seen == most and offset + seen or -1, #strays }
