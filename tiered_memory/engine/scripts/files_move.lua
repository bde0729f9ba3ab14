-- with: files
-- Moves a file, or a folder with all that is below: ARGV is the token, the path, the new one, the SHA-256 that must
-- stand there ('' for any), and how long a path may be. Answers the outcome and how many files moved.
local token, source, target, match, longest = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local moving = is_file(token, source) and { source } or below(token, source, -1)
if #moving == 0 then return { 'missing', 0 } end
if match ~= '' and redis.call('HGET', file_key(token, source), 'sha256') ~= match then return { 'changed', 0 } end
if source == target then return { 'moved', 0 } end
if string.sub(target, 1, #source + 1) == source .. '/' then return { 'inside', 0 } end
if is_file(token, target) or is_folder(token, target) then return { 'exists', 0 } end
local above = file_above(token, target)
if above and above ~= source then return { 'below', above } end
for _, path in ipairs(moving) do
  if #target + #path - #source > longest then return { 'long', path } end
end

for _, path in ipairs(moving) do
  local moved = target .. string.sub(path, #source + 1)
  redis.call('RENAME', file_key(token, path), file_key(token, moved))
  redis.call('HSET', file_key(token, moved), 'path', moved)
  redis.call('ZREM', paths_key(token), path)
  redis.call('ZADD', paths_key(token), 0, moved)
end
return { 'moved', #moving }
