#!lua flags=allow-oom
-- Forgets what has expired in the partition: ARGV is now. Answers 1 when there may be more.
return settle(sweep_due(tonumber(ARGV[1]), 100) and 1 or 0)
