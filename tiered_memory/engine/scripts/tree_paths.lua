#!lua flags=no-writes
-- with: tree, scan
-- Lists nodes that are enabled in effect: ARGV is the tree's address, the URI that they are or lie below, the one to go
-- on after ('' at first), and how many of each kind at the most.
-- Answers the URIs of documents and the last one that was looked at ('' when there are no more), and the same of
-- directories; nothing when there is nothing to search.
local tree, under, after, most = read_tree(1), ARGV[4], ARGV[5], tonumber(ARGV[6])
if not is_there(tree, under) then return {} end

local documents = following_uris(tree.enabled, under, after, most)
local directories, shown = following_uris(tree.directories, under, after, most), {}
for _, uri in ipairs(directories) do
  if effective(tree, uri) then shown[#shown + 1] = uri end
end

local function last_of(uris) return #uris >= most and uris[#uris] or '' end

return { documents, last_of(documents), shown, last_of(directories) }
