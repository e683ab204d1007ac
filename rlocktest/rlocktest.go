// Package rlocktest helps to test code that uses rlock: it gives a test a Client on an embedded Redis, and lets it stage
// what is hard to come by otherwise, a rival, a lost lock, a Redis that fails.
//
//	func TestSettleStopsWhenTheLockIsLost(t *testing.T) {
//		srv := rlocktest.New(t)
//		done := make(chan error, 1)
//		go func() { done <- shop.New(srv.Client()).Settle(t.Context(), "order:42") }()
//		srv.Lose("order:42") // waits until somebody holds it, then takes it away
//		if err := <-done; !errors.Is(err, rlock.ErrLost) {
//			t.Fatalf("Settle went on without its lock: %v", err)
//		}
//	}
//
// Nothing has to be installed, and tests with a [Server] of their own may run in parallel. At the end of the test
// everything is closed, and a lock that was not given back fails the test.
//
// # What is real and what is not
//
// The engine is the one of production, and so is its traffic. The server is miniredis, within the test's process, on a port
// of the loopback interface; time runs in it, so that leases end as they do in Redis. It has no replicas, no cluster and no
// access rules, and it is no measure of speed. To be sure of what happens when a real Redis fails, test against one.
//
// Time cannot be faked: a lease takes as long as it says. Give short ones to tests that wait for an end, but not shorter
// than a busy machine may pause: a hold whose renewal comes too late is lost, as it should be.
package rlocktest
