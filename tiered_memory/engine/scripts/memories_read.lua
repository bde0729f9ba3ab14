#!lua flags=no-writes
-- with: tree
-- Reads the memories that a tree shows: ARGV is now, the tree's address, the URI that their documents are or lie below,
-- the one to go on after ('' at first), how many documents at the most, 'active', 'superseded' and 'candidate' as far as
-- these are wanted ('' for each that isn't), and the field of vectors ('' for none).
-- Answers where to go on from ('' at the end), then tier, number and fields of each memory.
local tree, under, after, most = read_tree(2), ARGV[5], ARGV[6], tonumber(ARGV[7])
local now, active, superseded, candidate, vector = tonumber(ARGV[1]), unpack(ARGV, 8, 11)
local found, tiers = {}, {}
local wrong = vector ~= '' and wrong_embedder(vector)
if wrong then return wrong end

-- Vectors are long, and so is what helps to find texts.
local function is_wanted(name)
  return name == vector or string.sub(name, 1, 7) ~= 'vector_' and name ~= 'terms' and name ~= 'folded'
end

local function add(tier, number, fields)
  local wanted = {}
  for place = 1, #fields, 2 do
    if is_wanted(fields[place]) then wanted[#wanted + 1], wanted[#wanted + 2] = fields[place], fields[place + 1] end
  end
  if #wanted > 0 then found[#found + 1] = { tier.name, number, wanted } end
end

local function read(tier, digest)
  local value = redis.call('HGET', tier.slots, digest)
  if value and not expired(tier, digest, now) then
    local first = first_number(value)
    if active ~= '' then add(tier, first, fields_of(tier, value, digest)) end
    each_number(superseded ~= '' and string.sub(value, #first + 1) or '', function(number)
      add(tier, number, redis.call('HGETALL', record_key(number)))
    end)
  end
  for _, number in ipairs(candidate ~= '' and claims_at(tier, digest, now) or {}) do
    add(tier, number, redis.call('HGETALL', record_key(number)))
  end
end

local uris = following_uris(tree.documents, under, after, most)
for _, uri in ipairs(uris) do
  local node = node_of(tree, uri)
  local token, digest = string.match(node and node.view or '', '^(%x+):(%x+)$')
  if token then
    tiers[token] = tiers[token] or tier_of(token, node.tier, 'records', tree.member)
    read(tiers[token], digest)
  end
end
return { #uris >= most and uris[#uris] or '', found }
