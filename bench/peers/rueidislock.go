package peers

import (
	"context"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var rueidislockPeer = Peer{
	Name:    "rueidislock",
	Package: "github.com/redis/rueidis",
	Settings: "KeyMajority 1, as befits one Redis; NoLoopTracking; TryNextAfter 10 s, for with one key there is no next; " +
		"one pipelined connection",
	Store:    Redis,
	Pushed:   true,
	Renews:   true,
	Commands: Commands{Inside: []string{"get", "set", "del", "pexpireat"}},
	Open:     openRueidislock,
}

type rueidislockClient struct{ locker rueidislock.Locker }

func openRueidislock(c Config) (Client, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{c.Addr}},
		KeyValidity:    c.Lease,
		KeyMajority:    1,
		NoLoopTracking: true,
		TryNextAfter:   10 * time.Second,
	})
	if err != nil {
		return nil, err
	}
	return rueidislockClient{locker}, nil
}

// Handle needs no I/O.
func (c rueidislockClient) Handle(name string) (Handle, error) {
	return &rueidislockHandle{locker: c.locker, name: name}, nil
}

// Ping is one round trip.
func (c rueidislockClient) Ping(ctx context.Context) error {
	client := c.locker.Client()
	return client.Do(ctx, client.B().Ping().Build()).Error()
}

// Close closes the connection.
func (c rueidislockClient) Close() error {
	c.locker.Close()
	return nil
}

type rueidislockHandle struct {
	locker  rueidislock.Locker
	name    string
	release context.CancelFunc
}

// Lock waits without a limit.
func (h *rueidislockHandle) Lock(ctx context.Context) (err error) {
	_, h.release, err = h.locker.WithContext(ctx, h.name)
	return err
}

// Unlock returns when the key is gone, and tells no error.
func (h *rueidislockHandle) Unlock(context.Context) error {
	h.release()
	return nil
}
