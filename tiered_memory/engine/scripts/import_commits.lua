-- with: tree, commits
-- Writes commits as an archive has them, where their documents stand: ARGV is the tree's address, then for each the
-- session's id, the URI, the hash.
-- Answers for each 'imported', 'skipped' (it is there already) or 'conflict' (another one is, or no document).
local tree = read_tree(1)
local wrong = wrong_commits(tree.token) or wrong_tree(tree)
if wrong then return wrong end

local outcomes = {}
for at = 4, #ARGV, 3 do node_of(tree, ARGV[at + 1]) end -- raises, before anything is written, where one isn't ours
for at = 4, #ARGV, 3 do
  local id, uri, hash = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local standing = hash_of_commit(tree.token, id, uri)
  local outcome = standing and (standing == hash and 'skipped' or 'conflict')
  if not outcome then
    outcome = is_document(node_of(tree, uri)) and 'imported' or 'conflict'
    if outcome == 'imported' then put_commit(tree.token, id, uri, hash) end
  end
  outcomes[#outcomes + 1] = outcome
end
return outcomes
