package rlock_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/rlock"
)

// java is one thread of a Java process.
type java struct {
	t      *testing.T
	raw    *redis.Client
	holder string
}

func newJava(t *testing.T, raw *redis.Client) *java {
	t.Helper()
	return &java{t: t, raw: raw, holder: uuid.NewString() + ":1"}
}

// lock returns redis.Nil when granted, as Java takes it, else the TTL of the key in the way.
func (j *java) lock(lease time.Duration) (time.Duration, error) {
	ms, err := j.run(`
		local there, mine = redis.call('EXISTS', KEYS[1]), redis.call('HEXISTS', KEYS[1], ARGV[1])
		if there == 1 and mine == 0 then return redis.call('PTTL', KEYS[1]) end
		redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
		return nil`, lease)
	return time.Duration(ms) * time.Millisecond, err
}

// unlock returns redis.Nil when it is not the holder.
func (j *java) unlock() error {
	_, err := j.run(`
		if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
		if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
			redis.call('PEXPIRE', KEYS[1], ARGV[2])
			return 0
		end
		redis.call('DEL', KEYS[1])
		redis.call('PUBLISH', ARGV[3], '0')
		return 1`, 30*time.Second)
	return err
}

// renew is one turn of the watchdog; redis.Nil if there was nothing to renew.
func (j *java) renew(lease time.Duration) error {
	_, err := j.run(`
		if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return nil end
		return redis.call('PEXPIRE', KEYS[1], ARGV[2])`, lease)
	return err
}

func (j *java) run(script string, lease time.Duration) (int64, error) {
	name := j.t.Name()
	ms := strconv.FormatInt(lease.Milliseconds(), 10)
	return j.raw.Eval(j.t.Context(), script, []string{name}, j.holder, ms, rlock.ChannelOf(name)).Int64()
}
