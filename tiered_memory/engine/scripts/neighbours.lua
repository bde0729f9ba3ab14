#!lua flags=no-writes
-- Reads what was remembered just before and after some ids of a tier: ARGV is now, the tier (token, name, kind), how
-- many on each side, then the digests. Answers for each digest two lists of fields, before and after it, each with the
-- nearest first. Those of another conversation, by their metadata, are passed over.
local now, tier, most = tonumber(ARGV[1]), read_tier(2, ''), tonumber(ARGV[5])
local FURTHER = 8 -- how many ids on a side are looked at for each one that is wanted

local function fields_at(digest)
  local value = redis.call('HGET', tier.slots, digest)
  if not value or expired(tier, digest, now) then return nil end
  return fields_of(tier, value, digest)
end

local function conversation_of(fields)
  for place = 1, #fields, 2 do
    if fields[place] == 'metadata' then
      local readable, metadata = pcall(cjson.decode, fields[place + 1])
      local name = readable and type(metadata) == 'table' and metadata.conversation
      if type(name) == 'number' and math.abs(name) >= 2 ^ 53 then -- Lua would round it
        name = string.match(fields[place + 1], '"conversation":%s*(%-?%d+)')
      end
      return (type(name) == 'string' or type(name) == 'number') and tostring(name) or ''
    end
  end
  return ''
end

local function side(digests, conversation)
  local found = {}
  for _, digest in ipairs(digests) do
    if #found == most then break end
    local fields = fields_at(digest)
    if fields and conversation_of(fields) == conversation then found[#found + 1] = fields end
  end
  return found
end

local answer = {}
for place = 6, #ARGV do
  local rank, fields = redis.call('ZRANK', tier.order, ARGV[place]), fields_at(ARGV[place])
  local before, after = {}, {}
  if rank and fields then
    local conversation, reach = conversation_of(fields), most * FURTHER
    if rank > 0 then
      local back = redis.call('ZRANGE', tier.order, math.max(0, rank - reach), rank - 1)
      local nearest = {}
      for each = #back, 1, -1 do nearest[#nearest + 1] = back[each] end
      before = side(nearest, conversation)
    end
    after = side(redis.call('ZRANGE', tier.order, rank + 1, rank + reach), conversation)
  end
  answer[#answer + 1] = { before, after }
end
return answer
