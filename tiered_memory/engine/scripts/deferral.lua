-- Memories that are written without vectors, which jobs make later. What `remember` reads ends with the token of the
-- scope's jobs, the vectors' field, the jobs, and the place where this begins.
do
  in_tree.first = tonumber(ARGV[in_tree.first and in_tree.first - 1 or #ARGV])
  local field, later = ARGV[in_tree.first + 1], read_jobs(in_tree.first + 2)
  local queue, outdated = queue_of(ARGV[2], ARGV[in_tree.first]), false
  local wrong_views, show_views = in_tree.wrong, in_tree.show

  function in_tree.wrong()
    return wrong_views and wrong_views() or wrong_jobs(queue, joined(in_tree.jobs or {}, later))
  end

  -- Takes away a vector that was made of other words.
  function in_tree.outdate(number)
    outdated = redis.call('HDEL', record_key(number), field) == 1 or outdated
  end

  local function makes_work(items, outcomes)
    for place, item in ipairs(items) do
      if is_news[outcomes[place]] and not item.tier.notes then return true end
    end
    return outdated
  end

  function in_tree.show(items, outcomes)
    if show_views then show_views(items, outcomes) end
    if not makes_work(items, outcomes) then return end
    for _, job in ipairs(later) do enqueue(queue, job, tonumber(ARGV[1])) end
    settle_jobs(queue, tonumber(ARGV[1]))
  end
end
