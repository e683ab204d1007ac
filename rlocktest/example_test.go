package rlocktest_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/rlock-go/rlock/ownerid"
	"github.com/rlock-go/rlock/rlock"
	"github.com/rlock-go/rlock/rlocktest"
)

// ship is code under test: it works on an order for as long as it has the lock.
func ship(ctx context.Context, locks *rlock.Client, order string, work func(context.Context) error) error {
	return locks.NewLock(order).Do(ctx, work)
}

// What the code under test does while somebody else holds the lock.
func ExampleServer_Rival() {
	t := newScript() // in a test of yours: its *testing.T
	defer t.finish()

	srv := rlocktest.New(t)
	rival, err := srv.Rival().NewLock("order:42").Acquire(t.Context())
	if err != nil {
		t.Fatalf("the rival: %v", err)
	}

	ctx := ownerid.NewContext(t.Context(), ownerid.New())
	ok, err := srv.Client().NewLock("order:42").TryLock(ctx)
	fmt.Println("while the rival holds the lock:", ok, err)

	_ = rival.Release(t.Context())
	ok, err = srv.Client().NewLock("order:42").TryLock(ctx)
	fmt.Println("after that:", ok, err)
	_ = srv.Client().NewLock("order:42").Unlock(ctx)
	// Output:
	// while the rival holds the lock: false <nil>
	// after that: true <nil>
}

// The code under test has to stop when it loses its lock. Lose takes the lock away as soon as the code has it.
func ExampleServer_Lose() {
	t := newScript() // in a test of yours: its *testing.T
	defer t.finish()

	srv := rlocktest.New(t)
	result := make(chan error, 1)
	go func() {
		result <- ship(t.Context(), srv.Client(), "order:42", func(ctx context.Context) error {
			<-ctx.Done() // the work goes on for as long as it may
			return context.Cause(ctx)
		})
	}()

	srv.Lose("order:42")
	fmt.Println("the work was stopped by a loss:", errors.Is(<-result, rlock.ErrLost))
	// Output: the work was stopped by a loss: true
}

// A Redis that fails is no lock that is taken: the code under test should tell them apart.
func ExampleServer_Fail() {
	t := newScript() // in a test of yours: its *testing.T
	defer t.finish()

	srv := rlocktest.New(t)
	work := func(context.Context) error { return nil }

	srv.Fail("NOPERM this user may do nothing")
	err := ship(t.Context(), srv.Client(), "order:42", work)
	fmt.Println(err)
	fmt.Println("taken:", errors.Is(err, rlock.ErrNotAcquired))

	srv.Recover()
	fmt.Println("recovered:", ship(t.Context(), srv.Client(), "order:42", work))
	// Output:
	// rlock: do "order:42": NOPERM this user may do nothing
	// taken: false
	// recovered: <nil>
}
