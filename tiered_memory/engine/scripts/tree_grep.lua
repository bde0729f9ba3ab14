#!lua flags=no-writes
-- with: tree, scan
-- Finds lines that have a substring in them: ARGV is the tree's address, the URI that their documents are or lie below,
-- the one to go on after ('' at first), the folded needle, how many lines at the most, and how much of a line is wanted
-- on either side of the needle.
-- Answers where to go on from ('' at the end), then for each its URI, its number, the line or what lies around the
-- needle, and after how many bytes of that the needle begins: -1 when only the client can tell, since it was found in a
-- folded copy, whose bytes are others. Answers nothing when there is nothing to search.
local tree, under, after, needle, most, around =
  read_tree(1), ARGV[4], ARGV[5], ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
if not is_there(tree, under) then return {} end

local found = {}

-- Walks over the lines of a text; a folded copy has as many.
local function lines(text)
  local line = { number = 0, last = -1 }
  function line.go_to(number)
    while line.number < number do
      line.first = line.last + 2
      line.last = (string.find(text, '\n', line.first, true) or #text + 1) - 1
      line.number = line.number + 1
    end
  end
  return line
end

local function piece(text, line, place)
  local first, last = math.max(line.first, place - around), math.min(line.last, place + #needle + around)
  return { string.sub(text, first, last), place - first }
end

local function look(uri, record)
  local text, copy = unpack(redis.call('HMGET', record, 'text', 'folded'))
  if not text then return 0 end
  local searched = folded_text(text, copy)
  local line, own = lines(searched), copy and lines(text)
  local place = string.find(searched, needle, 1, true)
  while place and #found < most do
    repeat line.go_to(line.number + 1) until line.last >= place
    if own then own.go_to(line.number) end
    local part, at = unpack(own and { string.sub(text, own.first, own.last), -1 } or piece(text, line, place))
    found[#found + 1] = { uri, line.number, part, at }
    place = string.find(searched, needle, line.last + 1, true)
  end
  return #text, #found >= most
end

return { scan(tree, under, after, look), found }
