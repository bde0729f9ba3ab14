-- Lets whoever uses a vector field search the index, while that field is in force: ARGV is the field, the name by which
-- it is searched, the index.
local field, name, index = unpack(ARGV)
local wrong = wrong_embedder(field)
if wrong then return wrong end
local named = redis.pcall('FT.ALIASADD', name, index)
if named.err and not string.find(named.err, 'already exists', 1, true) then return named end
return 1
