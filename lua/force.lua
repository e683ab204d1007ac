-- rlock:force
-- Takes the lock away from holders that were seen, unless that was too long ago.
--
-- KEYS[1]   the lock
-- ARGV[1]   the channel of its waiters
-- ARGV[2]   the last instant at which this may be done, in µs of the server's clock
-- ARGV[3..] the fields that were seen
-- returns   1 at least one of them was there and is gone; the waiters were told if the key went too
--           0 none was there, or it is too late: nothing was touched
--
-- Naming the fields and the time makes a late or repeated run harmless: it cannot meet a hold that began later.
local key = KEYS[1]
local now = redis.call('TIME')
if tonumber(now[1]) * 1000000 + tonumber(now[2]) > tonumber(ARGV[2]) then
  return 0
end

local removed = 0
for i = 3, #ARGV do
  removed = removed + redis.call('HDEL', key, ARGV[i])
end
if removed == 0 then
  return 0
end
if redis.call('EXISTS', key) == 0 then
  redis.pcall('PUBLISH', ARGV[1], '0')
end
return 1
