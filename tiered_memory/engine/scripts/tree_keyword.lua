#!lua flags=no-writes
-- with: tree, scan
-- Finds documents that have a substring in their text, abstract or overview: ARGV is the tree's address, the URI that
-- they are or lie below, the one to go on after ('' at first), the folded needle, how many at the most, and fields.
-- Answers where to go on from ('' at the end), then for each its URI, its group and the fields; nothing when there is
-- nothing to search.
local tree, under, after, needle, most = read_tree(1), ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7])
local fields = { unpack(ARGV, 8) }
if not is_there(tree, under) then return {} end

local found = {}

local function look(uri, record)
  local layers =
    redis.call('HMGET', record, 'abstract', 'folded_abstract', 'overview', 'folded_overview', 'text', 'folded')
  local bytes, hit = 0, false
  for place = 1, 5, 2 do
    local text = layers[place]
    if text and not hit then
      hit = string.find(folded_text(text, layers[place + 1]), needle, 1, true) ~= nil
      bytes = bytes + #text
    end
  end
  if hit then
    local _, group = effective(tree, uri)
    found[#found + 1] = { uri, group, #fields > 0 and redis.call('HMGET', record, unpack(fields)) or {} }
  end
  return bytes, #found >= most
end

return { scan(tree, under, after, look), found }
