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

-- A replica may lag, a master that was demoted under its clients for instance, and is not to be believed. So a write that
-- changes nothing, of a field that nobody has, makes it answer READONLY; whoever may not write can still read a master.
local refused = redis.pcall('HDEL', key, 'rlock: nobody')
if type(refused) == 'table' and string.find(refused.err, 'READONLY', 1, true) then
  return refused
end
return contents
