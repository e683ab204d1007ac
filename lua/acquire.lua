-- rlock:acquire
-- Takes the lock, takes a further level of it, or says why not.
--
-- KEYS[1]   the lock, a hash of field -> levels
-- ARGV[1]   the field of this attempt to take the lock
-- ARGV[2]   the levels that the field shall have: 1 to begin a hold, more to nest
-- ARGV[3]   the lease in ms, at least 1
-- ARGV[4]   the channel of the waiters, if fields follow
-- ARGV[5..] fields that their owner has given up for good
-- returns   -2   granted: the field has that many levels, the key at least that lease
--           -3   lost: the hold to nest in is gone, whoever has the key now
--           else taken: the PTTL of the key in the way, -1 if it has none
local key, field = KEYS[1], ARGV[1]
local want, lease = tonumber(ARGV[2]), tonumber(ARGV[3])

-- An answer for which nothing has to be written is given by a replica as well, which may lag: a master that was demoted under
-- its clients, say. So it goes with a write that changes nothing, of a field that nobody has, and a replica answers READONLY.
-- A write that is refused for another reason, replicas that are missing or a disk that is full, does not make it wrong.
local function unchanged(answer)
  local refused = redis.pcall('HDEL', key, 'rlock: nobody')
  if type(refused) == 'table' and string.find(refused.err, 'READONLY', 1, true) then
    return refused
  end
  return answer
end

local levels = redis.call('HGET', key, field)
local ttl = redis.call('PTTL', key)

-- A level more, or the same question once more. The count is named, not added to, so the repeat changes nothing.
if levels then
  local missing = want - levels
  if missing == 0 and ttl >= lease then
    return unchanged(-2)
  end
  if missing ~= 0 then
    redis.call('HINCRBY', key, field, missing)
  end
  if ttl < lease then -- never shortened; -1, no expiry at all, is mended
    local expires = redis.pcall('PEXPIRE', key, lease)
    if type(expires) == 'table' then -- an access rule forbids it: refused means that nothing was changed
      redis.pcall('HINCRBY', key, field, -missing)
      return expires
    end
  end
  return -2
end
if want > 1 then
  -- Proof of a loss, so only a master may give it: a replica that lags refuses this write, which changes nothing.
  redis.call('HDEL', key, '')
  return -3
end

-- A key held by nobody but given up fields is as good as free.
local orphans = {}
if ttl ~= -2 then
  if #ARGV == 3 then
    return unchanged(ttl)
  end
  local given_up = {}
  for i = 5, #ARGV do
    given_up[ARGV[i]] = true
  end
  orphans = redis.call('HKEYS', key)
  for _, other in ipairs(orphans) do
    if not given_up[other] then
      return unchanged(ttl)
    end
  end
end

-- HINCRBY comes first because it alone is refused for want of memory: then nothing has been written yet. The orphans'
-- expiry is nobody's any more, so it is replaced, even by a shorter one.
redis.call('HINCRBY', key, field, want)
for _, orphan in ipairs(orphans) do
  redis.call('HDEL', key, orphan)
end
local expires = redis.pcall('PEXPIRE', key, lease)
if type(expires) == 'table' then -- an access rule forbids it: a lock that never expires must not stay behind
  redis.pcall('HDEL', key, field)
  return expires
end
if #orphans > 0 and (ttl == -1 or ttl > lease) then
  redis.pcall('PUBLISH', ARGV[4], '0') -- waiters may sleep on the TTL that they saw, a Java peer's for all of it
end
return -2
