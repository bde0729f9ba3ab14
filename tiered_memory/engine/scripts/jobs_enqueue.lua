-- with: jobs
-- Enqueues jobs: ARGV is now, the queue's address, the jobs. Answers their numbers.
local now, queue, jobs = tonumber(ARGV[1]), read_queue(2), read_jobs(4)
local wrong = wrong_jobs(queue, jobs)
if wrong then return wrong end
local numbers = {}
for place, job in ipairs(jobs) do numbers[place] = tonumber(enqueue(queue, job, now)) end
settle_jobs(queue, now)
return numbers
