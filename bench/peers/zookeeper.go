package peers

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"
)

var zookeeperPeer = Peer{
	Name:     "ZooKeeper",
	Package:  "github.com/go-zookeeper/zk",
	Settings: "its Lock, on one session",
	Store:    ZooKeeper,
	Pushed:   true,
	Renews:   true,
	Open:     openZooKeeper,
}

type zookeeperClient struct{ conn *zk.Conn }

func openZooKeeper(c Config) (Client, error) {
	conn, events, err := zk.Connect([]string{c.Addr}, c.Lease, zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	timeout := time.After(20 * time.Second)
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return zookeeperClient{conn}, nil
			}
		case <-timeout:
			conn.Close()
			return nil, errors.New("no session with ZooKeeper within 20 s")
		}
	}
}

// Handle needs no I/O; the first Lock makes the node that the lock's queue hangs on.
func (c zookeeperClient) Handle(name string) (Handle, error) {
	return zookeeperHandle{zk.NewLock(c.conn, "/"+name, zk.WorldACL(zk.PermAll))}, nil
}

// Close ends the session.
func (c zookeeperClient) Close() error {
	c.conn.Close()
	return nil
}

type zookeeperHandle struct{ lock *zk.Lock }

// Lock waits without a limit, and knows no context.
func (h zookeeperHandle) Lock(context.Context) error { return h.lock.Lock() }

// Unlock gives it back.
func (h zookeeperHandle) Unlock(context.Context) error { return h.lock.Unlock() }
