#!lua flags=allow-oom
-- Drops history: ARGV is now, the scope as a member, the tier (token, name, kind), how many superseded ones to keep at
-- each id, the time in µs before which one must have been superseded to go ('' for any), then digests of ids.
-- Answers how many were dropped.
local tier = read_tier(3, ARGV[2])
local keep, before = tonumber(ARGV[6]), ARGV[7]
local wrong = wrong_shared_type() or wrong_type(tier)
if wrong then return wrong end

local function is_old(number)
  if before == '' then return true end
  local moment = redis.call('HGET', record_key(number), 'superseded_at')
  return not moment or tonumber(moment) < tonumber(before)
end

local dropped = 0
for place = 8, #ARGV do
  local value = redis.call('HGET', tier.slots, ARGV[place])
  local kept, count = {}, -1
  each_number(value or '', function(number)
    count = count + 1
    if count > keep and is_old(number) then
      drop_stated(tier, ARGV[place], number, false)
      redis.call('UNLINK', record_key(number))
      dropped = dropped + 1
    else
      kept[#kept + 1] = number
    end
  end)
  if value then
    redis.call('HSET', tier.slots, ARGV[place], table.concat(kept, ','))
    touch(tier, ARGV[place])
  end
end
tally(tier, 'superseded', -dropped)
return settle(dropped)
