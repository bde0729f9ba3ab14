#!lua flags=no-writes
-- Reads a part of a tier with the vectors: ARGV is now, the tier (token, name, kind), the vector's field, where to go
-- on from, how many ids. Answers where to go on from ('' at the end), then number, vector and fields of each.
local tier = read_tier(2)
local now, name, from, limit = tonumber(ARGV[1]), ARGV[5], ARGV[6], tonumber(ARGV[7])
local wrong = wrong_embedder(name)
if wrong then return wrong end
local bound = from == '' and '-inf' or '(' .. from
local batch = redis.call('ZRANGE', tier.order, bound, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
local found = {}
for place = 1, #batch, 2 do
  from = batch[place + 1]
  local value = redis.call('HGET', tier.slots, batch[place])
  if value and not expired(tier, batch[place], now) then
    local number = first_number(value)
    local vector = redis.call('HGET', record_key(number), name)
    if vector then found[#found + 1] = { number, vector, redis.call('HMGET', record_key(number), 'id', 'scope') } end
  end
end
return { #batch == 2 * limit and from or '', found }
