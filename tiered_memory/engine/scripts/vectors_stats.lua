#!lua flags=no-writes
-- with: tree
-- Counts the rows that a tree has in the index: ARGV is the tree's address, the index, the vector's field, any vector.
-- Answers how many have a vector, how many there are, and how many documents are enabled.
local tree, index, field, vector = read_tree(1), unpack(ARGV, 4, 6)

local function count(query, ...)
  local parameters = { 'token', tree.mark, ... }
  return redis.call('FT.SEARCH', index, '(@active:{$token} | @candidate:{$token})' .. query, 'TIMEOUT', 0, 'LIMIT', 0, 0, 'DIALECT', 2, 'PARAMS',
    #parameters, unpack(parameters))[1]
end

-- no distance is greater than 2, so that every vector is within the range
local embedded = count(string.format(' @%s:[VECTOR_RANGE 3 $vector]', field), 'vector', vector)
return { embedded, count(''), redis.call('ZCARD', tree.enabled) }
