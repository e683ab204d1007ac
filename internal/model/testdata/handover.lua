-- Moves a hold from field to field: what the model's hand-over is. The engine has no script for it yet; when it has, the
-- test that plays this one against the model is to play that one.
--
-- KEYS[1] the lock
-- ARGV[1] the channel of its waiters
-- ARGV[2] the field of the hold that ends
-- ARGV[3] the field of the hold that begins
-- ARGV[4] its lease in ms
-- returns 1 handed over, now or by an earlier run of this very command
--         0 neither field is there: nothing was touched
local key, from, to = KEYS[1], ARGV[2], ARGV[3]
local lease = tonumber(ARGV[4])
local ttl = redis.call('PTTL', key)

-- HDEL comes first: out of memory, a server refuses HINCRBY as a script's first write only.
if redis.call('HDEL', key, from) == 1 then
  redis.call('HINCRBY', key, to, 1 - (redis.call('HGET', key, to) or 0))
  redis.call('PEXPIRE', key, lease)
  if ttl == -1 or ttl > lease then
    redis.pcall('PUBLISH', ARGV[1], '0') -- who sleeps on the TTL that he saw has to look again
  end
  return 1
end
if redis.call('HEXISTS', key, to) == 0 then
  return 0
end
if ttl < lease then
  redis.call('PEXPIRE', key, lease)
end
return 1
