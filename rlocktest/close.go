package rlocktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// grace is how long the holders that are left at the end of a test have to give back.
const grace = 2 * time.Second

// close ends everything in the order in which one leans on the other. It fails the test if a lock was not given back,
// unless the test has failed already: one that was cut short seldom gets to its unlocks.
func (s *Server) close() {
	s.Recover()
	err := s.closeClients()
	held := s.held()
	for _, rdb := range s.rdbs {
		_ = rdb.Close()
	}
	s.mini.Close()
	switch {
	case err == nil:
	case s.t.Failed():
		s.t.Logf("rlocktest: at the end of the test, %s: %v", held, err)
	default:
		s.t.Errorf("rlocktest: locks were not given back by the end of the test, %s: %v", held, err)
	}
}

func (s *Server) closeClients() error {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	var errs []error
	for _, c := range slices.Backward(s.clients) {
		errs = append(errs, c.Close(ctx))
	}
	return errors.Join(errs...)
}

// held lists what stands in the database. Strangers' hashes are listed too: the test put them there and will know them.
func (s *Server) held() string {
	var all []string
	for _, key := range s.mini.Keys() {
		fields, _ := s.mini.HKeys(key) // an error is another kind of key
		for _, field := range fields {
			all = append(all, fmt.Sprintf("%s by %s", key, field))
		}
	}
	if all == nil {
		return "none of them still in Redis (lost, and not unlocked even so)"
	}
	return "still in Redis " + strings.Join(all, ", ")
}
