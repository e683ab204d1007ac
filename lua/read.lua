-- rlock:read
-- Says what the lock holds and when that was, by the server's clock.
--
-- KEYS[1] the lock
-- returns {TIME in µs, PTTL, field, value, field, value, ...}; no fields when the lock is free
local key = KEYS[1]
local now = redis.call('TIME')

local contents = {tonumber(now[1]) * 1000000 + tonumber(now[2]), redis.call('PTTL', key)}
for _, text in ipairs(redis.call('HGETALL', key)) do
  contents[#contents + 1] = text
end
return contents
