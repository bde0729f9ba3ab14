#!lua flags=allow-oom
-- with: files
-- Deletes a file, or a folder with all that is below: ARGV is the scope as a member, the token of its files, the path,
-- the SHA-256 that must stand there ('' for any), and 'all' to delete folders.
-- Answers the outcome and how many files went.
local member, token, path, match, all = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == 'all'
local doomed = is_file(token, path) and { path } or {}
if #doomed == 0 and is_folder(token, path) then
  if not all then return { 'folder', 0 } end
  doomed = below(token, path, -1)
end
if #doomed == 0 then return { 'missing', 0 } end
if match ~= '' and redis.call('HGET', file_key(token, path), 'sha256') ~= match then return { 'changed', 0 } end

for _, each in ipairs(doomed) do drop_file(token, each) end
hold(member, -#doomed)
return { 'deleted', #doomed }
