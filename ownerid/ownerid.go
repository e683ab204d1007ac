// Package ownerid says who holds a lock.
//
// A lock is reentrant for its owner, so everything depends on who that is. An owner is an [ID]: a small comparable value
// that travels in a [context.Context]. Whoever is handed the context is that owner, on whichever goroutine it runs; where
// the context carries none, rlock takes the calling goroutine, as ported Java code expects of its thread.
//
// # The one footgun
//
//	go f(ctx)
//
// f is the same owner as its caller. That is the point of handing a context on (f re-enters the caller's locks instead
// of waiting for them for ever), and it is wrong as soon as the two must exclude each other: both are let in, because
// both are one owner. Before a fan-out, give each goroutine an owner of its own, or hide the caller's:
//
//	go f(ownerid.NewContext(ctx, ownerid.New())) // another owner, spelt out
//	go f(ownerid.Without(ctx))                   // whoever runs it: the new goroutine
//
// The mirror image is a goroutine that serves one request after another, as servers do on keep-alive connections. Left to
// the goroutine, the second request would own what the first forgot to give back. Put a fresh owner, [New], into the
// context of every request.
//
// # Who never meets
//
// An ID is unique within a process. On the wire rlock puts an application id in front of it (see [NewAppID]), random per
// client, so that two processes, two restarts or two clients never share an owner. Owners of goroutines are bare numbers
// and made ones start with a letter: one is never mistaken for the other.
package ownerid

import (
	"strconv"
	"sync/atomic"

	"github.com/petermattis/goid"
)

// ID is an owner of locks within one process. IDs are compared with ==; the zero ID is no owner.
type ID struct {
	text string
}

// made counts what New has given out. A counter rather than random bits: within a process it cannot repeat, and it costs
// neither entropy nor a system call on the path of every request.
var made atomic.Uint64

// New makes an owner that nobody in this process was before. It does no I/O and cannot fail.
func New() ID {
	return ID{text: "c" + strconv.FormatUint(made.Add(1), 10)}
}

// Goroutine is the owner that stands for the calling goroutine: the same one each time it is asked on that goroutine,
// never that of another goroutine. The runtime uses no goroutine number twice within a process.
func Goroutine() ID {
	return ID{text: strconv.FormatInt(goid.Get(), 10)}
}

// String is the ID as text, "" for no owner. [Parse] turns it back into the same ID.
func (id ID) String() string { return id.text }

// IsZero reports whether id is no owner.
func (id ID) IsZero() bool { return id.text == "" }

// IsGoroutine reports whether id stands for a goroutine, which is to say whether it is a bare number.
func (id ID) IsGoroutine() bool {
	for i := range len(id.text) {
		if id.text[i] < '0' || id.text[i] > '9' {
			return false
		}
	}
	return id.text != ""
}
