-- rlock:release
-- Gives levels back, and with the last one the field; wakes the waiters when the key goes with it.
--
-- KEYS[1] the lock
-- ARGV[1] the channel of its waiters (no key: in ARGV, so that access rules on keys need not know it)
-- ARGV[2] the field of the hold
-- ARGV[3] the levels that shall remain
-- ARGV[4] a TTL in ms that the key shall have at least while levels remain; 0 leaves it alone
-- returns 0 not held: the field is not there
--         1 kept: levels remain, or the field is gone and others keep the key
--         2 freed: the key is gone and the waiters were told
local key, field = KEYS[1], ARGV[2]
local remain, raise = tonumber(ARGV[3]), tonumber(ARGV[4])

if remain > 0 then
  -- Changes nothing, but has to come first: out of memory, a server refuses HINCRBY as a script's first write only; and a
  -- replica, whose word on a field that is missing is worth nothing, refuses here to give it.
  redis.call('HDEL', key, '')
  local levels = redis.call('HGET', key, field)
  if not levels then
    return 0
  end
  local surplus = remain - levels
  if raise > 0 and redis.call('PTTL', key) < raise then
    redis.call('PEXPIRE', key, raise)
  end
  if surplus ~= 0 then
    redis.call('HINCRBY', key, field, surplus)
  end
  return 1
end

if redis.call('HDEL', key, field) == 0 then
  return 0
end
if redis.call('EXISTS', key) == 1 then
  return 1
end
-- pcall: the lock is free whether or not this user may publish; who was not told looks again by himself.
redis.pcall('PUBLISH', ARGV[1], '0')
return 2
