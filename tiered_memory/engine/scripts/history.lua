#!lua flags=no-writes
-- Reads all that was and is claimed at an id: ARGV is now, the tier (token, name, kind), the id's digest.
-- Answers what stands there and stood there, newest first, then what waits there, newest first: each as its number
-- and its fields; the active one with the marks of having been surfaced.
local tier = read_tier(2)
local now, digest = tonumber(ARGV[1]), ARGV[5]
local found = {}

local function add(number, fields)
  if #fields > 0 then found[#found + 1] = { number, fields } end
end

local value = redis.call('HGET', tier.slots, digest)
if value and not expired(tier, digest, now) then
  local first = first_number(value)
  add(first, fields_of(tier, value, digest))
  each_number(string.sub(value, #first + 1), function(number) add(number, redis.call('HGETALL', record_key(number))) end)
end
for _, number in ipairs(claims_at(tier, digest, now)) do add(number, redis.call('HGETALL', record_key(number))) end
return found
