// Package redistest starts real redis-server processes for tests.
//
// Time, failure, pub/sub and access rules are only believable on a real server,
// so most tests of this module want one. A machine without one must still be
// able to run the rest: [Require], and with it [Start] and [Shared], skips there
// and says so; with RLOCK_REQUIRE_REDIS=1, which continuous integration sets, it
// fails, because a skip that looks green proves nothing.
//
// Servers listen on the loopback interface alone, keep nothing on disk unless
// asked to ([AppendOnly]), and die with the test: at its cleanup, or on Linux
// together with the test binary however that ends. Unix only.
package redistest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// requireEnv turns a missing server from a skip into a failure.
const requireEnv = "RLOCK_REQUIRE_REDIS"

// Require skips the test when [Binary] finds no redis-server, with one line on
// stderr besides, or fails it when RLOCK_REQUIRE_REDIS=1. It starts nothing.
func Require(t testing.TB) {
	t.Helper()
	if _, found := Binary(); found {
		return
	}
	if os.Getenv(requireEnv) == "1" {
		t.Fatalf("redistest: no redis-server, and %s=1 forbids going without (%s)", requireEnv, hint())
	}
	skip(t, "no redis-server ("+hint()+")")
}

func skip(t testing.TB, lack string) {
	t.Helper()
	complain(lack)
	t.Skipf("redistest: SKIPPED, %s: what this test promises is unproven here", lack)
}

// complained holds what complain has said.
var complained sync.Map

// complain says each thing once: a hundred lines would hide what else the binary
// has to say.
func complain(lack string) {
	if _, again := complained.LoadOrStore(lack, true); !again {
		fmt.Fprintf(os.Stderr, "redistest: WARNING: %s, tests that need it are skipped\n", lack)
	}
}

func hint() string {
	if path := os.Getenv(binaryEnv); path != "" {
		return binaryEnv + "=" + path + " cannot be run"
	}
	return "scripts/redis-server.sh gets one, " + binaryEnv + " names one"
}
