-- Where documents are removed, so are the commits to them.
on_remove[#on_remove + 1] = {
  wrong = function(tree) return wrong_commits(tree.token) end,
  remove = function(tree, uri) drop_commits_to(tree.token, uri) end,
}
