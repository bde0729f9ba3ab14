-- Reading and changing a scope's graph, whose parts `woven` describes.
local CHUNK = 1000 -- how many values one command is given at the most, since Lua's stack is bounded

local function check_type(name, wanted)
  local found = redis.call('TYPE', name).ok
  if found ~= 'none' and found ~= wanted then
    error({ err = 'CORRUPT a key of the graph is a ' .. found .. ', not a ' .. wanted })
  end
end

-- Looks at the keys that a change may touch, all but the mentions.
local function check_graph(graph)
  for kind, wanted in pairs(facts.kinds) do check_type(graph[kind], wanted) end
  check_type(KEYS[1], 'zset')
  check_type(holding, 'hash')
  check_type(sequence, 'string')
end

local function check_mentions(graph, fact)
  facts.each_mention(fact.mentions, function(entity) check_type(facts.mentions_key(graph, entity), 'zset') end)
end

local function chunks(list, visit)
  for first = 1, #list, CHUNK do
    visit({ unpack(list, first, math.min(first + CHUNK - 1, #list)) })
  end
end

local function next_number() return string.format('%.0f', redis.call('INCR', sequence)) end

-- Ids of memories as arguments: how many tiers, the tokens of these, then for each memory its id and the digest of it.
local function read_ids(at)
  local after, ids = at + 1 + tonumber(ARGV[at]), {}
  local tokens = { unpack(ARGV, at + 1, after - 1) }
  for each = after, #ARGV, 2 do ids[#ids + 1] = { id = ARGV[each], digest = ARGV[each + 1], tokens = tokens } end
  return ids
end

-- Calls visit(name, number) for the facts that memories of an id may state, and those that were indexed for it by hand.
local function each_fact(graph, of, visit)
  local function found(number) visit(facts.name(of.id, number), number) end
  for _, token in ipairs(of.tokens) do each_number(redis.call('HGET', key('slots', token), of.digest) or '', found) end
  each_number(redis.call('HGET', graph.chains, of.id) or '', found)
end

-- Facts as they are answered: name, fact and sentence, which is the text of the record that states it.
local function with_sentences(graph, names)
  local found = {}
  chunks(names, function(part)
    local kept = redis.call('HMGET', graph.facts, unpack(part))
    for place, sentence in ipairs(redis.call('HMGET', graph.sentences, unpack(part))) do
      local name = part[place]
      sentence = sentence or redis.call('HGET', record_key(string.match(name, '%d+$')), 'text')
      found[#found + 1] = { name, kept[place], sentence }
    end
  end)
  return found
end
