-- with: records
-- Marks memories as surfaced: ARGV is for each tier its token, name and kind, its half-life in µs where retention is to
-- follow ('' where nothing is evicted), when they were, the number of ids and their digests.
-- What doesn't stand there any more is passed over.
local function mark(tier, moment, digests)
  local moments = {}
  for place, value in ipairs(redis.call('HMGET', tier.slots, unpack(digests))) do
    local digest = digests[place]
    if value then
      if redis.call('HINCRBY', tier.surfaced, digest, 1) == 1 then touch(tier, digest) end
      moments[#moments + 1], moments[#moments + 2] = digest, moment
      if tier.half_life then
        local kept = redis.call('HMGET', record_key(first_number(value)), 'importance', 'uses')
        if kept[1] then retain(tier, digest, kept[1], kept[2], moment) end
      end
    end
  end
  if #moments > 0 then redis.call('HSET', tier.surfaced_at, unpack(moments)) end
end

local at = 1
while at <= #ARGV do
  local tier, last = read_tier(at), at + 5 + tonumber(ARGV[at + 5])
  tier.half_life = tonumber(ARGV[at + 3])
  if not wrong_type(tier) then
    for first = at + 6, last, 1000 do
      mark(tier, ARGV[at + 4], { unpack(ARGV, first, math.min(first + 999, last)) })
    end
  end
  at = last + 1
end
return settle(1)
