#!lua flags=no-writes
-- Finds the facts that mention entities, and those that mention a sibling of these: ARGV is the token of the graph, how
-- many facts are wanted, how many are read at the most for either, the latest time from which a fact may hold, the time
-- that its end must lie beyond, the latest time at which it became known, 'mentions' to be told of these, and the
-- entities. Of an entity that many facts mention only the newest are read; the rarest entities come first.
-- Answers the direct facts, then the others: for each its name, its weight (the rarity of its matched entities, summed
-- up), how often its siblings were met, when it was recorded, and what it mentions.
local graph, wanted, budget = graph_of(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local from_most, to_least, known_by = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local tell, asked = ARGV[7] == 'mentions', { unpack(ARGV, 8) }
local total = redis.call('HLEN', graph.facts)
local timeless = known_by == math.huge

-- When a fact was recorded and its mentions, or nil unless it held and was known at the times that are asked for.
local function visible(record)
  local recorded, from, to, expired, start = string.match(record, '^(%d+) (%-?%d+) (%S+) (%S+)\n()')
  if not recorded then error({ err = 'CORRUPT a fact is not as we wrote it' }) end
  if tonumber(recorded) > known_by or tonumber(from) > from_most then return nil end
  if to ~= '-' and tonumber(to) <= to_least and tonumber(expired) <= known_by then return nil end
  return recorded, start
end

-- Calls visit(entity) for each entity that a fact was known to mention.
local function each_known(record, start, visit)
  for time, entity in string.gmatch(string.sub(record, start), '(%d+)\t([^\n]+)\n') do
    if timeless or tonumber(time) <= known_by then visit(entity) end
  end
end

-- Those of the entities that any fact mentions, the rarest first, with their rarity in millionths; and a map of that.
local function rarest_first(entities)
  local list, rarity = {}, {}
  chunks(entities, function(part)
    for place, count in ipairs(redis.call('HMGET', graph.entities, unpack(part))) do
      if count then
        local entity = part[place]
        rarity[entity] = math.floor(1e6 * math.log(1 + total / tonumber(count)) + 0.5)
        list[#list + 1] = entity
      end
    end
  end)
  table.sort(list, function(a, b)
    if rarity[a] ~= rarity[b] then return rarity[a] > rarity[b] end
    return a < b
  end)
  return list, rarity
end

local since = timeless and '-inf' or string.format('%.0f', -known_by)

local seen = {}

-- Adds to `found` what is visible of these facts, unless it was seen already.
local function read_new(names, found)
  local new = {}
  for _, name in ipairs(names) do
    if not seen[name] then
      seen[name] = true
      new[#new + 1] = name
    end
  end
  if #new == 0 then return end
  for place, record in ipairs(redis.call('HMGET', graph.facts, unpack(new))) do
    local recorded, start = visible(record or '')
    if recorded then found[#found + 1] = { name = new[place], record = record, recorded = recorded, start = start } end
  end
end

-- The newest visible facts of each entity that weren't seen yet, until the budget is spent or enough are found.
local function gather(entities, enough)
  local found, left = {}, budget
  for _, entity in ipairs(entities) do
    local offset, more = 0, true
    while more and left > 0 and #found < enough do
      local most = math.min(left, CHUNK, enough)
      local page =
        redis.call('ZRANGE', mentions_key(graph.token, entity), since, '+inf', 'BYSCORE', 'LIMIT', offset, most)
      left, offset, more = left - #page, offset + #page, #page == most
      read_new(page, found)
    end
  end
  return found
end

-- Weighs facts by those of their entities that have a rarity; drops those that weren't known to mention any.
local function weigh(facts, rarity, met)
  local weighed = {}
  for _, fact in ipairs(facts) do
    local weight, pairs_met = 0, 0
    fact.mentions = {}
    each_known(fact.record, fact.start, function(entity)
      weight = weight + (rarity[entity] or 0)
      pairs_met = pairs_met + (met and met[entity] or 0)
      fact.mentions[#fact.mentions + 1] = entity
    end)
    if weight > 0 then
      fact.weight, fact.met = weight, pairs_met
      weighed[#weighed + 1] = fact
    end
  end
  return weighed
end

local function answer(facts)
  local rows = {}
  for _, fact in ipairs(facts) do
    rows[#rows + 1] = { fact.name, fact.weight, fact.met, fact.recorded, tell and table.concat(fact.mentions, '\n') or '' }
  end
  return rows
end

-- How many direct facts mention each entity that wasn't asked for.
local function siblings_of(facts, rarity)
  local met, list = {}, {}
  for _, fact in ipairs(facts) do
    for _, entity in ipairs(fact.mentions) do
      if not rarity[entity] then
        if not met[entity] then list[#list + 1] = entity end
        met[entity] = (met[entity] or 0) + 1
      end
    end
  end
  return list, met
end

local entities, rarity = rarest_first(asked)
local direct = weigh(gather(entities, #entities == 1 and timeless and wanted or math.huge), rarity)
if #direct >= wanted then return { answer(direct), {} } end

local list, met = siblings_of(direct, rarity)
local siblings, sibling_rarity = rarest_first(list)
return { answer(direct), answer(weigh(gather(siblings, math.huge), sibling_rarity, met)) }
