#!lua flags=no-writes
-- with: commits
-- Reads the hash that a session was committed to a URI with: ARGV is the token of the scope's store, the session's id,
-- the URI. Answers nothing when there is no such commit.
return hash_of_commit(ARGV[1], ARGV[2], ARGV[3]) or false
