-- With a document that is a view go the memories that it shows.

-- The ids whose views are among these documents, each with its tier.
local function viewed_ids(tree, documents)
  local found, tiers = {}, {}
  for _, uri in ipairs(documents) do
    local node = node_of(tree, uri)
    local token, digest = string.match(node and node.view or '', '^(%x+):(%x+)$')
    if token then
      tiers[token] = tiers[token] or tier_of(token, node.tier, 'records', tree.member)
      found[#found + 1] = { tier = tiers[token], digest = digest }
    end
  end
  return found
end

local function wrong_ids(ids)
  local seen = {}
  for _, each in ipairs(ids) do
    local wrong = not seen[each.tier] and wrong_type(each.tier)
    if wrong then return wrong end
    seen[each.tier] = true
  end
end

local function forget_ids(ids)
  for _, each in ipairs(ids) do
    drop_active(each.tier, each.digest)
    drop_claims(each.tier, each.digest, 0)
    announce_due(each.tier)
  end
  settle()
end

on_remove[#on_remove + 1] = {
  wrong = function(tree, uri)
    tree.viewed = viewed_ids(tree, all_uris(tree.documents, uri))
    return wrong_ids(tree.viewed)
  end,
  remove = function(tree) forget_ids(tree.viewed) end,
}
