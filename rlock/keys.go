package rlock

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/lua"
)

// keys are the names on the wire that one lock uses.
type keys struct {
	hash    string // the lock itself: field = owner's field, value = hold count
	channel string // where an unlock is announced
	wire    wireKeys
}

// wireKeys are the same in the form that commands take.
type wireKeys struct{ hash, channel lua.Text }

// keysOf derives them from the raw name (key prefix and lock name together) as Redisson does: a derived name keeps the
// raw name's hash tag if it has a brace, else the whole raw name becomes the tag.
func keysOf(raw string) keys {
	channel := "redisson_lock__channel:{" + raw + "}"
	if strings.Contains(raw, "{") {
		channel = "redisson_lock__channel:" + raw
	}
	return keys{hash: raw, channel: channel, wire: wireKeys{hash: raw, channel: channel}}
}

var (
	errEmptyName  = errors.New("name is empty")
	errBracesName = errors.New("name has braces that put the lock and its channel into different slots of a cluster: " +
		"close the brace, put something between the braces, or use none")
)

// judgeName refuses what cannot be a lock's name. On Cluster that includes names for which Redisson's rule derives names
// of another slot; elsewhere they work, and a Java peer uses them too.
func judgeName(rdb redis.UniversalClient, name, raw string) error {
	if name == "" {
		return errEmptyName
	}
	if _, cluster := rdb.(*redis.ClusterClient); cluster && hashTag(raw) != hashTag(keysOf(raw).channel) {
		return errBracesName
	}
	return nil
}

// hashTag is the part of a key that Redis Cluster hashes: what stands between the first "{" and the next "}", if that is
// anything at all, else the whole key.
func hashTag(key string) string {
	_, after, found := strings.Cut(key, "{")
	if !found {
		return key
	}
	if tag, _, closed := strings.Cut(after, "}"); closed && tag != "" {
		return tag
	}
	return key
}
