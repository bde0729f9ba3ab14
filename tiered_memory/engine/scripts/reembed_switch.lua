-- Puts a vector field in force in a partition: ARGV is the index, the field, the name by which the index is searched from
-- now on, how many records may lack the field, the number of names by which the index was searched, and these; then the
-- embedder and the type of numbers that `meta` must have, or else the ones that it is given, and the names and values
-- that it is given. Answers 'moved', or what is in the way: 'lacking', or 'another' embedder.
local index, field, name, most = unpack(ARGV)
local last = 5 + tonumber(ARGV[5])
local meta = prefix .. 'meta'

local given = {}
for at = last + 3, #ARGV, 2 do given[ARGV[at]] = ARGV[at + 1] end

local function stands(embedder, vectors)
  local found = redis.call('HMGET', meta, 'embedder', 'vectors')
  return (found[1] or nil) == embedder and (found[2] or nil) == vectors
end

if given.embedder and not stands(ARGV[last + 1], ARGV[last + 2]) and not stands(given.embedder, given.vectors) then
  return 'another'
end
local query = 'ismissing(@' .. field .. ')'
local lacking = redis.call('FT.SEARCH', index, query, 'LIMIT', 0, 0, 'TIMEOUT', 0, 'DIALECT', 2)[1]
if lacking > tonumber(most) then return 'lacking' end

local named = redis.pcall('FT.ALIASADD', name, index)
if named.err and not string.find(named.err, 'already exists', 1, true) then return named end
for at = 6, last do redis.pcall('FT.ALIASDEL', ARGV[at]) end
redis.call('HSET', meta, unpack(ARGV, last + 3))
return 'moved'
