#!lua flags=no-writes
-- with: graph
-- Finds the facts that mention entities, and those that mention a sibling of these: ARGV is the token of the graph, how
-- many facts are wanted, how many are read at the most for either, the latest time from which a fact may hold, the time
-- that its end must lie beyond, the latest time at which it became known, 'mentions' to be told of these, and the
-- entities. Entities are read from the rarest on, and the newest facts of each.
-- Answers the direct facts, then the others: for each its name, its weight (the rarity of its matched entities, summed
-- up), how often its siblings were met, when it was recorded, the tier of the record that states it, and its mentions.
local graph, wanted, budget = facts.graph_of(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local from_most, to_least, known_by = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local tell, asked = ARGV[7] == 'mentions', { unpack(ARGV, 8) }
local total = redis.call('HLEN', graph.facts)
local untimed = known_by == math.huge

-- When a fact was recorded, and its tier, or nil unless it held and was known at the times that are asked for.
local function visible(record)
  local recorded, from, to, expired, tier = string.match(record, '^(%d+) (%-?%d+) (%S+) (%S+) (%S+)\n%d+\t')
  if not recorded then error({ err = 'CORRUPT a fact is not as we wrote it' }) end
  if tonumber(recorded) > known_by or tonumber(from) > from_most then return nil end
  if to ~= '-' and tonumber(to) <= to_least and tonumber(expired) <= known_by then return nil end
  return recorded, tier
end

-- Whether a fact was known to mention an entity.
local function mentions(record, entity)
  local at = string.find(record, '\t' .. entity .. '\n', 1, true)
  return at ~= nil and (untimed or tonumber(string.match(string.sub(record, 1, at - 1), '%d+$')) <= known_by)
end

local function known_mentions(record)
  local list = {}
  for entity in string.gmatch(record, '\t([^\n]+)\n') do
    if untimed or mentions(record, entity) then list[#list + 1] = entity end
  end
  return list
end

-- How rare an entity is among the facts of the scope, in millionths: a million if only one mentions it.
local function rarity_of(count) return math.floor(1e6 * math.log(1 + total / count) / math.log(1 + total) + 0.5) end

-- Those of the entities that any fact mentions, the rarest first, until so many facts do; and the rarity of each.
local function rarest_first(entities, reads)
  local by_count, counts, rarity = {}, {}, {}
  chunks(entities, function(part)
    for place, number in ipairs(redis.call('HMGET', graph.entities, unpack(part))) do
      local count, entity = tonumber(number or 0), part[place]
      if count > 0 then
        if not by_count[count] then
          by_count[count] = {}
          counts[#counts + 1] = count
        end
        table.insert(by_count[count], entity)
        rarity[entity] = rarity_of(count)
      end
    end
  end)
  table.sort(counts)
  local list, left = {}, reads
  for _, count in ipairs(counts) do
    if left <= 0 then break end
    table.sort(by_count[count])
    for _, entity in ipairs(by_count[count]) do list[#list + 1] = entity end
    left = left - count * #by_count[count]
  end
  return list, rarity
end

-- The names of the newest facts of each entity, up to `most` of all; and whether there are more.
local function newest_of(entities, most)
  local pages, left, more = {}, most, false
  for _, entity in ipairs(entities) do
    local page = left > 0 and redis.call('ZRANGE', facts.mentions_key(graph, entity), 0, left - 1) or {}
    more = more or #page == left
    left = left - #page
    pages[#pages + 1] = page
  end
  return pages, more
end

local seen = {} -- facts by name, or false for what is not visible

local function read_new(pages)
  local new = {}
  for _, page in ipairs(pages) do
    for _, name in ipairs(page) do
      if seen[name] == nil then
        new[#new + 1] = name
        seen[name] = false
      end
    end
  end
  chunks(new, function(names)
    for place, record in ipairs(redis.call('HMGET', graph.facts, unpack(names))) do
      local recorded, tier = visible(record or '')
      if recorded then
        seen[names[place]] =
          { name = names[place], record = record, recorded = recorded, tier = tier, weight = 0, met = 0 }
      end
    end
  end)
end

-- Reads the facts of these pages, one for each entity, and adds up what led to each; those of `earlier` are left out.
local function add_up(pages, entities, rarity, met, earlier)
  read_new(pages)
  local found, added = {}, {}
  for place, page in ipairs(pages) do
    local entity = entities[place]
    for _, name in ipairs(page) do
      local fact = seen[name]
      if fact and not earlier[name] and (untimed or mentions(fact.record, entity)) then
        if not added[name] then found[#found + 1] = fact end
        added[name] = true
        fact.weight, fact.met = fact.weight + rarity[entity], fact.met + (met[entity] or 0)
      end
    end
  end
  return found, added
end

-- Weighs facts by all entities that were asked for, where these were not read to their ends.
local function weigh_in_full(list, entities, rarity)
  for _, fact in ipairs(list) do
    fact.weight = 0
    for _, entity in ipairs(entities) do
      if mentions(fact.record, entity) then fact.weight = fact.weight + rarity[entity] end
    end
  end
end

-- How many direct facts mention each entity that wasn't asked for.
local function siblings_of(direct, rarity)
  local met, list = {}, {}
  for _, fact in ipairs(direct) do
    for _, entity in ipairs(known_mentions(fact.record)) do
      if not rarity[entity] then
        if not met[entity] then list[#list + 1] = entity end
        met[entity] = (met[entity] or 0) + 1
      end
    end
  end
  return list, met
end

local function answer(list)
  local flat_list = {}
  for _, fact in ipairs(list) do
    local at = #flat_list
    flat_list[at + 1], flat_list[at + 2], flat_list[at + 3] = fact.name, fact.weight, fact.met
    flat_list[at + 4], flat_list[at + 5] = fact.recorded, fact.tier
    flat_list[at + 6] = tell and table.concat(known_mentions(fact.record), '\n') or ''
  end
  return flat_list
end

-- Whether facts are of as many memories as are wanted: several may be of one.
local function enough(list)
  local ids, count = {}, 0
  for _, fact in ipairs(list) do
    local id = string.match(fact.name, '^(.*)#')
    count = count + (ids[id] and 0 or 1)
    ids[id] = true
  end
  return count >= wanted
end

local entities, rarity = rarest_first(asked, math.huge)

local function read_direct(most)
  seen = {}
  local pages, more = newest_of(entities, most)
  local list, names = add_up(pages, entities, rarity, {}, {})
  if more and #entities > 1 then weigh_in_full(list, entities, rarity) end
  return list, names, more
end

-- those of one entity come in their order, unless ended ones are asked for too
local most = #entities == 1 and untimed and from_most == math.huge and math.min(wanted, budget) or budget
local direct, found, more = read_direct(most)
if more and most < budget and not enough(direct) then direct, found = read_direct(budget) end
if enough(direct) then return { answer(direct), {} } end

local list, met = siblings_of(direct, rarity)
local siblings, sibling_rarity = rarest_first(list, budget)
return { answer(direct), answer((add_up((newest_of(siblings, budget)), siblings, sibling_rarity, met, found))) }
