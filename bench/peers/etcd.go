package peers

import (
	"context"
	"errors"
	"math"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

var etcdPeer = Peer{
	Name:    "etcd",
	Package: "go.etcd.io/etcd/client/v3",
	Settings: "concurrency.Mutex; one session for all locks, or where goroutines of one process want the same lock a session " +
		"each, for a session is the owner",
	Store:  Etcd,
	Pushed: true,
	Renews: true,
	Open:   openEtcd,
}

type etcdClient struct {
	client  *clientv3.Client
	session *concurrency.Session // for all handles; nil if each has its own
	seconds int
}

func openEtcd(c Config) (Client, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{c.Addr}, DialTimeout: 10 * time.Second})
	if err != nil {
		return nil, err
	}
	e := &etcdClient{client: client, seconds: int(math.Ceil(c.Lease.Seconds()))}
	if !c.Contended {
		if e.session, err = e.newSession(); err != nil {
			return nil, errors.Join(err, client.Close())
		}
	}
	return e, nil
}

func (c *etcdClient) newSession() (*concurrency.Session, error) {
	return concurrency.NewSession(c.client, concurrency.WithTTL(c.seconds))
}

// Handle makes a session if goroutines share names.
func (c *etcdClient) Handle(name string) (Handle, error) {
	session := c.session
	if session == nil {
		var err error
		if session, err = c.newSession(); err != nil {
			return nil, err
		}
	}
	return etcdHandle{concurrency.NewMutex(session, name)}, nil
}

// Close ends the connection; the sessions run out.
func (c *etcdClient) Close() error { return c.client.Close() }

type etcdHandle struct{ mutex *concurrency.Mutex }

// Lock waits without a limit.
func (h etcdHandle) Lock(ctx context.Context) error { return h.mutex.Lock(ctx) }

// Unlock gives it back.
func (h etcdHandle) Unlock(ctx context.Context) error { return h.mutex.Unlock(ctx) }
