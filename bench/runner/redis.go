package runner

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlock-go/rlock/bench/cells"
	"github.com/rlock-go/rlock/bench/stats"
)

// redisView is the parent's own way to the server, by one connection.
type redisView struct{ client *redis.Client }

func newRedisView(addr string) *redisView {
	return &redisView{redis.NewClient(&redis.Options{Addr: addr, PoolSize: 1, ReadTimeout: time.Minute})}
}

func (v *redisView) close() { _ = v.client.Close() }

// ours are the commands that do not count: the view's own, and what clients say when they open a connection.
var ours = []string{
	"info", "dbsize", "client|list", "client|id", "hello", "auth", "select", "client|setinfo", "client|setname",
	"client|maint_notifications", "client|tracking",
}

// look reads the server's counters.
func (v *redisView) look(ctx context.Context) (usage, error) {
	text, err := v.client.Info(ctx, "cpu", "commandstats").Result()
	if err != nil {
		return usage{}, fmt.Errorf("INFO: %w", err)
	}
	u := usage{at: time.Now(), calls: make(map[string]int64)}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		switch name {
		case "used_cpu_user", "used_cpu_sys":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return u, fmt.Errorf("INFO: %s: %w", name, err)
			}
			u.cpu += seconds
		}
		if command, ok := strings.CutPrefix(name, "cmdstat_"); ok {
			if u.calls[command], err = callsOf(value); err != nil {
				return u, fmt.Errorf("INFO: %s: %w", name, err)
			}
		}
	}
	for _, command := range ours {
		delete(u.calls, command)
	}
	return u, lines.Err()
}

// callsOf reads "calls=12,usec=…".
func callsOf(value string) (int64, error) {
	first, _, _ := strings.Cut(value, ",")
	return strconv.ParseInt(strings.TrimPrefix(first, "calls="), 10, 64)
}

// connections counts the clients but the view, and those of them that subscribe or have keys tracked.
func (v *redisView) connections(ctx context.Context) (all, subscribed int, err error) {
	list, err := v.client.ClientList(ctx).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("CLIENT LIST: %w", err)
	}
	own, err := v.client.ClientID(ctx).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("CLIENT ID: %w", err)
	}
	for line := range strings.Lines(list) {
		fields := make(map[string]string)
		for field := range strings.FieldsSeq(line) {
			name, value, _ := strings.Cut(field, "=")
			fields[name] = value
		}
		if fields["id"] == strconv.FormatInt(own, 10) {
			continue
		}
		all++
		if subscribes(fields) {
			subscribed++
		}
	}
	return all, subscribed, nil
}

func subscribes(client map[string]string) bool {
	for _, kind := range []string{"sub", "psub", "ssub"} {
		if n := client[kind]; n != "" && n != "0" {
			return true
		}
	}
	return strings.Contains(client["flags"], "t") // CLIENT TRACKING
}

// probe sends a PING every millisecond and tells how long each took.
func (v *redisView) probe(ctx context.Context, d time.Duration) stats.Histogram {
	var took stats.Histogram
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Millisecond) {
		start := time.Now()
		if v.client.Ping(ctx).Err() != nil {
			break // the next look at the server fails too
		}
		took.Add(time.Since(start))
	}
	return took
}

// latestRenewal looks at the time that each key has left, again and again, and tells how much of its lease had gone by at
// most: 0.33 if each hold is renewed at a third of its lease. A hold that is renewed late shows that in the looks before.
func (v *redisView) latestRenewal(ctx context.Context, spec cells.Spec) (float64, error) {
	const pause = 2 * time.Second
	latest := 0.0
	for end := time.Now().Add(spec.Duration); time.Now().Before(end); {
		least, err := v.leastTTL(ctx, spec)
		if err != nil {
			return 0, err
		}
		latest = max(latest, 1-least.Seconds()/spec.Lease.Seconds())
		time.Sleep(min(pause, time.Until(end)))
	}
	return latest, nil
}

// leastTTL asks in portions, so that the server serves others in between.
func (v *redisView) leastTTL(ctx context.Context, spec cells.Spec) (time.Duration, error) {
	const portion = 1000
	least := spec.Lease
	for first := 0; first < spec.Names; first += portion {
		var ttls []*redis.DurationCmd
		_, err := v.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i := first; i < min(first+portion, spec.Names); i++ {
				ttls = append(ttls, pipe.PTTL(ctx, spec.Name(i)))
			}
			return nil
		})
		if err != nil {
			return 0, fmt.Errorf("PTTL: %w", err)
		}
		for _, ttl := range ttls {
			least = min(least, max(ttl.Val(), 0)) // a key that is not there had nothing left
		}
	}
	return least, nil
}

// Calls is what the server at addr has counted of the commands that count, by name.
func Calls(ctx context.Context, addr string) (map[string]int64, error) {
	view := newRedisView(addr)
	defer view.close()
	used, err := view.look(ctx)
	return used.calls, err
}
