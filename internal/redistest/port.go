package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the ranges that kernels hand out to outgoing
// connections: a server that is down for a while would lose a port from there
// to anybody's client, and could not come back on it.
const (
	firstPort = 17000
	lastPort  = 31999
)

// freePort returns a port that nobody listens on at this moment. It may be taken
// when the server gets there, so callers try again.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if probe(port) == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port found between %d and %d", firstPort, lastPort)
}

func probe(port int) error {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return listener.Close()
}
