#!lua flags=no-writes
-- What is near to a vector, and what shares terms with a question by the weights that the searched rows themselves give
-- to terms: what others wrote into the same index has no part in it. ARGV is the index, which rows are searched, how
-- many each search gives, the token of the tier whose rows they are ('' for none), 'all' if all that stands in it is
-- searched, of how many of the best by terms the neighbours come too (-1 where places don't matter), then lists that
-- begin with their length: arguments that keep to some keys, parameters with their names, fields, of which each row has
-- the first; then the vector's field ('' for no such search), the vector, and the terms. Answers how many rows are
-- searched, how many of them hold each term, the rows that were found: key, place in the tier's order or -1, distance if
-- the vector found it, and the values of the fields; how long that order is, and how many rows expired meanwhile.
local index, where, most, token = ARGV[1], '(' .. ARGV[2] .. ')', ARGV[3], ARGV[4]
local order, slots = key('order', token), key('slots', token)
local standing = redis.call('HLEN', slots)
if token ~= '' and standing == 0 then return { 0, {}, {}, 0, 0 } end

local everything, neighbours, at = ARGV[5] == 'all', tonumber(ARGV[6]), 8 + tonumber(ARGV[7])
local only = { unpack(ARGV, 8, at - 1) }
local parameters = { unpack(ARGV, at + 1, at + tonumber(ARGV[at])) }
at = at + 1 + #parameters
local fields = { unpack(ARGV, at + 1, at + tonumber(ARGV[at])) }
at = at + 1 + #fields
local vector_field, vector, terms = ARGV[at], ARGV[at + 1], { unpack(ARGV, at + 2) }

local function search(query, extra, ...)
  local given = { unpack(parameters) }
  for _, value in ipairs(extra) do given[#given + 1] = value end
  given[#given + 1] = 'TIMEOUT'
  given[#given + 1] = 0
  for _, value in ipairs(only) do given[#given + 1] = value end
  for _, value in ipairs({ ... }) do given[#given + 1] = value end
  return redis.call('FT.SEARCH', index, query, 'DIALECT', 2, 'PARAMS', #parameters + #extra, unpack(given))
end

local slot_at -- the place of the field by which a row's place in the order is known
for place, field in ipairs(fields) do
  if field == 'slot' and neighbours >= 0 then slot_at = place end
end

local found, known, gone = {}, {}, 0

-- Reads a row: that costs a third of what the search takes to return it.
local function add(name, distance)
  if known[name] then return end
  known[name] = true
  local values = redis.call('HMGET', name, unpack(fields))
  if not values[1] then
    gone = gone + 1
    return
  end
  local place = slot_at and redis.call('ZRANK', order, values[slot_at]) or -1
  found[#found + 1] = { name, place, distance, values }
end

local function add_at(place)
  local digest = place >= 0 and redis.call('ZRANGE', order, place, place)[1]
  local value = digest and redis.call('HGET', slots, digest)
  if value then add(record_key(first_number(value)), false) end
end

local function count(query, extra) return search(query, extra, 'LIMIT', 0, 0)[1] end

-- The weight of a term that `having` of `rows` rows hold: BM25's inverse document frequency.
local function weight(rows, having) return math.log(1 + (rows - having + 0.5) / (having + 0.5)) end

local function near()
  local query = string.format('%s=>[KNN %s @%s $vector AS distance]', where, most, vector_field)
  return search(query, { 'vector', vector }, 'SORTBY', 'distance', 'LIMIT', 0, most, 'RETURN', 1, 'distance')
end

local rows, having = 0, {}

local function fitting()
  rows = everything and standing or count(where, {}) -- counting rows takes time in proportion to them
  local names, wanted, given = {}, {}, {}
  for place, term in ipairs(terms) do
    having[place] = count(where .. ' @terms:$term', { 'term', term })
    if having[place] > 0 then
      local name = 'term' .. place
      given[#given + 1], given[#given + 2] = name, term
      names[#names + 1] = '$' .. name
      wanted[#wanted + 1] = string.format('(~@terms:$%s)=>{$weight:%.6f}', name, weight(rows, having[place]))
    end
  end
  if #names == 0 then return { 0 } end
  local query = string.format('%s @terms:(%s)=>{$weight:0} %s', where, table.concat(names, '|'),
    table.concat(wanted, ' '))
  -- this scorer adds up weight times frequency; the others would weigh terms by the whole index
  return search(query, given, 'SCORER', 'DISMAX', 'LIMIT', 0, most, 'NOCONTENT')
end

if vector_field ~= '' then
  local close = near()
  for each = 2, #close, 2 do add(close[each], (close[each + 1] or {})[2] or false) end
end
if #terms > 0 then
  local best, places = fitting(), {}
  for each = 2, #best do add(best[each], false) end
  for _, each in ipairs(found) do places[each[1]] = each[2] end
  for each = 2, math.min(neighbours + 1, #best) do
    local place = places[best[each]] or -1
    if place >= 0 then
      add_at(place - 1)
      add_at(place + 1)
    end
  end
end
return { rows, having, found, redis.call('ZCARD', order), gone }
