-- Writes pairs of memories that are much alike and shall be: ARGV is the tier (token, name, kind), then for each pair
-- the digest of an id and when what stands there was recorded, twice.
-- Answers for each 'imported', 'skipped' (it is there already) or 'conflict' (something else stands there).
local tier = read_tier(1)
local wrong = wrong_type(tier)
if wrong then return wrong end

local function standing(at)
  local value = redis.call('HGET', tier.slots, ARGV[at])
  local number = value and first_number(value)
  return number and redis.call('HGET', record_key(number), 'recorded_at') == ARGV[at + 1] and number
end

local outcomes, members = {}, {}
for at = 4, #ARGV, 4 do
  local one, other = standing(at), standing(at + 2)
  if one and other and tonumber(one) > tonumber(other) then one, other = other, one end
  members[#members + 1] = one and other and one .. ':' .. other or ''
end
for place, member in ipairs(members) do
  outcomes[place] = member == '' and 'conflict' or redis.call('SADD', tier.settled, member) == 1 and 'imported' or 'skipped'
end
return outcomes
