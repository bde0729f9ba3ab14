-- with: files
-- Writes a file as an archive has it, where nothing stands: ARGV is the scope as a member, the token of its files, the
-- path, its SHA-256, when it was created and last changed, then its other fields.
-- Answers 'imported', 'skipped' (the same content is there) or 'conflict'.
local member, token, path, sha256 = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local wrong = wrong_shared_type()
if wrong then return wrong end
local standing = redis.call('HGET', file_key(token, path), 'sha256')
if standing then return standing == sha256 and 'skipped' or 'conflict' end
if is_folder(token, path) or file_above(token, path) then return 'conflict' end

redis.call('ZADD', paths_key(token), 0, path)
redis.call('HSET', file_key(token, path), 'path', path, 'sha256', sha256, 'created_at', ARGV[5], 'modified_at', ARGV[6],
  unpack(ARGV, 7))
hold(member, 1)
return 'imported'
