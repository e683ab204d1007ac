-- rlock:renew
-- Keeps a hold alive, or only looks whether it is; never makes one.
--
-- KEYS[1] the lock
-- ARGV[1] the field of the hold
-- ARGV[2] the lease in ms that the key shall have at least; 0 only looks; -n only gives n to a key that has no expiry at all
-- returns 1 held
--         0 not held: the field is not there, nothing was touched
local key, lease = KEYS[1], tonumber(ARGV[2])

if redis.call('HEXISTS', key, ARGV[1]) == 0 then
  -- Proof of a loss, so only a master may give it: a replica that lags refuses this write, which changes nothing.
  redis.call('HDEL', key, '')
  return 0
end
local ttl = redis.call('PTTL', key)
if lease > 0 and ttl < lease or lease < 0 and ttl == -1 then
  redis.call('PEXPIRE', key, math.abs(lease))
  return 1
end
-- Nothing to write, so a replica could say it too, and its word on what is there is worth no more. A write that is refused for
-- another reason does not make the answer wrong.
local refused = redis.pcall('HDEL', key, 'rlock: nobody')
if type(refused) == 'table' and string.find(refused.err, 'READONLY', 1, true) then
  return refused
end
return 1
