-- rlock:handover
-- Moves a hold to a waiter of the same process: what would be a release, a message and an acquire is one command, and the
-- lock is free at no instant between.
--
-- KEYS[1] the lock
-- ARGV[1] the channel of its waiters
-- ARGV[2] the field of the hold that ends
-- ARGV[3] the field of the hold that begins, with one level
-- ARGV[4] its lease in ms, at least 1
-- returns -2 granted: the second field holds the lock, by this run or by an earlier one of the same command
--         -3 lost: neither field is there
local key, from, to = KEYS[1], ARGV[2], ARGV[3]
local lease = tonumber(ARGV[4])

-- Changes nothing, but has to come first: out of memory, a server refuses HINCRBY as a script's first write only, and to give
-- back must always be possible; and a replica, whose word on fields that are missing is worth nothing, refuses to give it.
redis.call('HDEL', key, '')
local ttl = redis.call('PTTL', key)

if redis.call('HEXISTS', key, from) == 0 then
  if redis.call('HEXISTS', key, to) == 0 then
    return -3
  end
  if ttl < lease then
    redis.call('PEXPIRE', key, lease)
  end
  return -2
end

local missing = 1 - (redis.call('HGET', key, to) or 0)
redis.call('HINCRBY', key, to, missing)
-- The waiter's lease replaces what is left of the holder's, even if it is shorter: a waiter that dies must not block the lock
-- for longer than its own.
local expires = redis.pcall('PEXPIRE', key, lease)
if type(expires) == 'table' then -- an access rule forbids it: refused means that nothing was changed
  if redis.pcall('HINCRBY', key, to, -missing) == 0 then
    redis.pcall('HDEL', key, to)
  end
  return expires
end
redis.call('HDEL', key, from)
if ttl == -1 or ttl > lease then
  redis.pcall('PUBLISH', ARGV[1], '0') -- waiters may sleep on the TTL that they saw, a Java peer's for all of it
end
return -2
