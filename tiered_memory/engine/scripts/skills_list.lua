#!lua flags=no-writes
-- with: tree
-- Lists the directories viking://user/OWNER/skills/NAME in the order of their URIs: ARGV is the tree's address, the URI to
-- go on after ('' at first), and how many at the most. Answers for each its URI, how many documents lie below, whether it
-- is enabled, and its group. What lies deeper, or elsewhere, is passed over at once: '0' comes after the slash.
local tree, after, most = read_tree(1), ARGV[4], tonumber(ARGV[5])
local base = 'viking://user/'
local first, last = '(' .. (after ~= '' and after or base), '(viking://user0'

-- How far a URI leads towards a skill: itself, or where it leaves the way there, and whether that is a skill.
local function way_of(uri)
  local owner, folder, name = string.match(string.sub(uri, #base + 1), '^([^/]+)/?([^/]*)/?([^/]*)')
  if folder == '' then return base .. owner, false end
  if folder ~= 'skills' or name == '' then return base .. owner .. '/' .. folder, false end
  return base .. owner .. '/skills/' .. name, true
end

local skills = {}
repeat
  local deeper = false
  local found = redis.call('ZRANGE', tree.directories, first, last, 'BYLEX', 'LIMIT', 0, 100)
  for _, uri in ipairs(found) do
    local way, is_skill = way_of(uri)
    if way ~= uri then
      first, deeper = '[' .. way .. '0', true
      break
    end
    first = '(' .. uri
    if is_skill then
      local enabled, group = effective(tree, uri)
      skills[#skills + 1] = { uri, count_uris(tree.documents, uri), enabled and 1 or 0, group }
      if #skills == most then return skills end
    end
  end
until #found == 0 and not deeper
return skills
