-- Searching texts for a substring, part by part: no step looks at more than so many documents, or goes on when it has
-- read so many bytes, so that none holds up the server for long.
local MOST_DOCUMENTS, MOST_BYTES = 500, 4 * 1024 * 1024

-- A text without differences of case; it has a copy that is folded where more is to be folded than ASCII.
local function folded_text(text, copy) return copy or string.lower(text) end

-- Calls visit(uri, record) for each document that is enabled, at or below `under` and after `after`, which answers how
-- many bytes it read, and whether it has enough. Answers where to go on from, '' at the end.
local function scan(tree, under, after, visit)
  local uris = following_uris(tree.enabled, under, after, MOST_DOCUMENTS)
  local read = 0
  for place, uri in ipairs(uris) do
    local node = node_of(tree, uri)
    local number = node and record_of(node)
    if number then
      local bytes, enough = visit(uri, record_key(number))
      read = read + bytes
      if enough then return '' end
    end
    if read >= MOST_BYTES and place < #uris then return uri end
  end
  return #uris >= MOST_DOCUMENTS and uris[#uris] or ''
end

-- Whether there is something at `under`, where a search begins.
local function is_there(tree, under) return is_root(under) or node_of(tree, under) ~= nil end
