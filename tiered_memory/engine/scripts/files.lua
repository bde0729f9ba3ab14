-- How a scope's files lie: their paths in one sorted set, in the order of their bytes, and a hash for each.
local details = { 'sha256', 'size', 'mime', 'created_at', 'modified_at' }

local function paths_key(token) return key('paths', token) end

local function file_key(token, path) return key('file', token) .. ':' .. path end

-- What stands below a folder begins with its path and a slash; '0' is the character after the slash.
local function below(token, folder, most)
  return redis.call('ZRANGE', paths_key(token), '[' .. folder .. '/', '(' .. folder .. '0', 'BYLEX', 'LIMIT', 0, most)
end

local function is_file(token, path) return redis.call('ZSCORE', paths_key(token), path) ~= false end

local function is_folder(token, path) return #below(token, path, 1) > 0 end

-- The file that a path would have to go through, or nil.
local function file_above(token, path)
  local at = string.find(path, '/', 2, true)
  while at do
    local above = string.sub(path, 1, at - 1)
    if is_file(token, above) then return above end
    at = string.find(path, '/', at + 1, true)
  end
end

local function drop_file(token, path)
  redis.call('UNLINK', file_key(token, path))
  return redis.call('ZREM', paths_key(token), path)
end
