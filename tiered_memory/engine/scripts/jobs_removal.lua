-- With a URI go its jobs, and those of what is below it.
on_remove[#on_remove + 1] = {
  wrong = function(tree, uri)
    local queue = queue_of(tree.member, tree.token)
    local wrong = wrong_jobs(queue)
    if not wrong then jobs_of_uri(queue, uri, -1) end
    return wrong
  end,
  remove = function(tree, uri)
    local queue = queue_of(tree.member, tree.token)
    cancel_jobs(queue, uri, -1)
    settle_jobs(queue, 0)
  end,
}
