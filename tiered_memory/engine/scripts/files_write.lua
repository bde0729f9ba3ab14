-- with: files
-- Writes a file: ARGV is now, the scope as a member, the token of its files, the path, the SHA-256 that must stand
-- there ('' for any), 'new' if nothing may, 'tree' if folders and files may not meet, then its fields.
-- Answers the outcome and when the file was created.
local now, member, token, path = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local match, new, tree = ARGV[5], ARGV[6] == 'new', ARGV[7] == 'tree'
local sha256, created_at = unpack(redis.call('HMGET', file_key(token, path), 'sha256', 'created_at'))

if sha256 and new then return { 'exists' } end
if match ~= '' and not sha256 then return { 'missing' } end
if match ~= '' and sha256 ~= match then return { 'changed' } end
if tree and not sha256 then
  if is_folder(token, path) then return { 'folder' } end
  if file_above(token, path) then return { 'below', file_above(token, path) } end
end

if not sha256 then hold(member, 1) end
redis.call('ZADD', paths_key(token), 0, path)
redis.call('HSET', file_key(token, path), 'path', path, 'created_at', created_at or now, 'modified_at', now,
  unpack(ARGV, 8))
return { 'written', created_at or now }
