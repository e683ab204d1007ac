// Package peers puts the lock libraries that are measured behind one small interface, a file for each. Every library runs
// in its best honest settings, which it tells.
package peers

import (
	"context"
	"runtime/debug"
	"time"
)

// Peer is one library in one configuration.
type Peer struct {
	Name     string   // in tables and on command lines
	Package  string   // a Go module, or Maven coordinates with their version
	Settings string   // what was chosen, and why where that is not plain
	Store    Store    // where its locks live
	Java     bool     // measured by the Java cell instead of Open
	Pushed   bool     // a waiter is told that its turn came; else it polls
	Renews   bool     // keeps its holds alive by itself
	Commands Commands // what it says to Redis
	Sessions int      // how many holds and waiters its store bears, when each takes a session of its own; 0: any number

	Open func(Config) (Client, error)
}

// Store is a kind of server.
type Store string

// The stores that locks live in.
const (
	Redis     Store = "Redis"
	Etcd      Store = "etcd"
	Postgres  Store = "PostgreSQL"
	ZooKeeper Store = "ZooKeeper"
)

// Config is what the work wants of a client.
type Config struct {
	Addr       string        // of the server
	Goroutines int           // how many will use the client at once
	Contended  bool          // that these goroutines want the same locks
	Distance   time.Duration // how much a round trip is longer than on this machine
	Lease      time.Duration // of every hold, renewed where the library renews
}

// Client is one process's way to its locks.
type Client interface {
	// Handle makes a handle of the lock of that name for one goroutine. It is made ahead, where it costs no time that
	// is measured.
	Handle(name string) (Handle, error)
	// Close ends the client.
	Close() error
}

// Pinger is a Client that can do the least that can be done on the same kind of connection.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Handle takes and gives back one lock, for one goroutine.
type Handle interface {
	// Lock waits until the lock is held.
	Lock(ctx context.Context) error
	// Unlock gives it back.
	Unlock(ctx context.Context) error
}

// All are the peers in the order of the tables. What is measured against them comes first.
func All() []Peer {
	return []Peer{
		rlockPeer, scriptsPeer, redislockPeer, redislockFastPeer, redsyncPeer, rueidislockPeer, redissonPeer, etcdPeer,
		postgresPeer, zookeeperPeer,
	}
}

// ByName finds a peer.
func ByName(name string) (Peer, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Peer{}, false
}

// Version is the version of the peer's package that this program was built with.
func (p Peer) Version() string {
	if p.Java {
		return "" // its coordinates end with it
	}
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path != p.Package {
			continue
		}
		if module.Replace != nil {
			return "this checkout"
		}
		return module.Version
	}
	return "unknown"
}
