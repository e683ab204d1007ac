-- rlock:renew
-- Keeps a hold alive, or only looks whether it is; never makes one.
--
-- KEYS[1] the lock
-- ARGV[1] the field of the hold
-- ARGV[2] the lease in ms that the key shall have at least; 0 only looks
-- returns 1 held
--         0 not held: the field is not there, nothing was touched
local key, lease = KEYS[1], tonumber(ARGV[2])

if redis.call('HEXISTS', key, ARGV[1]) == 0 then
  -- Proof of a loss, so only a master may give it: a replica that lags refuses this write, which changes nothing.
  redis.call('HDEL', key, '')
  return 0
end
if lease > 0 and redis.call('PTTL', key) < lease then
  redis.call('PEXPIRE', key, lease)
end
return 1
