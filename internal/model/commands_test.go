package model_test

// The commands that both sides are given, and what their answers mean.

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/model"
	"github.com/rlock-go/rlock/lua"
)

// command is one run of a script, for both sides.
type command struct {
	name   string
	model  func(*model.Server, model.Rules) (r model.Reply, published bool)
	real   func(p *play) (any, error)
	answer func(reply any) (model.Reply, error)
}

// commands make a random command of each kind.
var commands = []func(*rand.Rand) command{
	func(r *rand.Rand) command {
		f, want, lease, orphans := aField(r), upTo(r, 1, 3), upTo(r, 1, 5), someFields(r)
		return command{
			fmt.Sprintf("acquire(%d, want %d, lease %d, orphans %b)", f, want, lease, orphans),
			func(v *model.Server, rules model.Rules) (model.Reply, bool) {
				return v.Acquire(f, want, lease, orphans, rules)
			},
			func(p *play) (any, error) {
				given := lua.Orphans{Channel: p.channel, Fields: fieldNames(orphans)}
				return p.run(lua.Acquire(p.key, fieldName(f), int(want), ticks(lease), given))
			},
			acquired,
		}
	},
	func(r *rand.Rand) command {
		f, remain, raise := aField(r), upTo(r, 0, 2), upTo(r, 0, 5)
		if remain == 0 {
			raise = 0
		}
		return command{
			fmt.Sprintf("release(%d, remain %d, raise %d)", f, remain, raise),
			func(v *model.Server, rules model.Rules) (model.Reply, bool) {
				return v.Release(f, remain, raise, rules)
			},
			func(p *play) (any, error) {
				return p.run(lua.Release(p.key, p.channel, fieldName(f), int(remain), ticks(raise)))
			},
			released,
		}
	},
	func(r *rand.Rand) command {
		f, lease := aField(r), upTo(r, 0, 5)
		return command{
			fmt.Sprintf("renew(%d, lease %d)", f, lease),
			func(v *model.Server, rules model.Rules) (model.Reply, bool) { return v.Renew(f, lease, rules), false },
			func(p *play) (any, error) { return p.run(lua.Renew(p.key, fieldName(f), ticks(lease))) },
			either(lua.DecodeRenew, model.Held, model.Gone),
		}
	},
	func(r *rand.Rand) command {
		seen, inTime := someFields(r)|model.SetOf(aField(r)), r.IntN(4) > 0
		return command{
			fmt.Sprintf("force(%b, in time: %v)", seen, inTime),
			func(v *model.Server, rules model.Rules) (model.Reply, bool) { return v.Force(seen, inTime, rules) },
			func(p *play) (any, error) {
				notAfter := time.Now().Add(time.Hour)
				if !inTime {
					notAfter = time.Now().Add(-time.Hour)
				}
				return p.run(lua.Force(p.key, p.channel, fieldNames(seen), notAfter.UnixMicro()))
			},
			either(lua.DecodeForce, model.Removed, model.Nothing),
		}
	},
	func(r *rand.Rand) command {
		from, to, lease := aField(r), aField(r), upTo(r, 1, 5)
		for from == to {
			to = aField(r)
		}
		return command{
			fmt.Sprintf("handover(%d to %d, lease %d)", from, to, lease),
			func(v *model.Server, rules model.Rules) (model.Reply, bool) {
				return v.HandOver(from, to, lease, rules)
			},
			func(p *play) (any, error) {
				return p.run(lua.HandOver(p.key, p.channel, fieldName(from), fieldName(to), ticks(lease)))
			},
			handedOver,
		}
	},
}

func acquired(reply any) (model.Reply, error) {
	got, err := lua.DecodeAcquire(reply)
	return map[lua.AcquireOutcome]model.Reply{
		lua.Granted: model.Granted, lua.Taken: model.Taken, lua.Lost: model.Lost,
	}[got.Outcome], err
}

func takenFor(t *testing.T, reply any) time.Duration {
	t.Helper()
	got, err := lua.DecodeAcquire(reply)
	require.NoError(t, err)
	return got.TTL
}

func released(reply any) (model.Reply, error) {
	got, err := lua.DecodeRelease(reply)
	return map[lua.ReleaseOutcome]model.Reply{
		lua.NotHeld: model.NotHeld, lua.Kept: model.Kept, lua.Freed: model.Freed,
	}[got], err
}

func handedOver(reply any) (model.Reply, error) {
	got, err := lua.DecodeHandOver(reply)
	return map[lua.ReleaseOutcome]model.Reply{lua.NotHeld: model.Neither, lua.Kept: model.Handed}[got], err
}

// either is the answer of a script that says yes or no.
func either(decode func(any) (bool, error), yes, no model.Reply) func(any) (model.Reply, error) {
	return func(reply any) (model.Reply, error) {
		if ok, err := decode(reply); !ok || err != nil {
			return no, err
		}
		return yes, nil
	}
}

// randomServer has few fields, so that commands meet them. More than one is rare in life, and the scripts' own business.
func randomServer(r *rand.Rand) (v model.Server) {
	for range r.IntN(3) {
		v.Levels[aField(r)] = upTo(r, 1, 3)
	}
	if v.Fields() == 0 {
		return v
	}
	if v.TTL = upTo(r, 1, 5); r.IntN(8) == 0 {
		v.TTL = model.NoTTL
	}
	return v
}

// aField is one of a few fields, which stand for all.
func aField(r *rand.Rand) model.Field { return model.Field(upTo(r, 1, 3)) }

func someFields(r *rand.Rand) (s model.FieldSet) {
	for range r.IntN(3) {
		s |= model.SetOf(aField(r))
	}
	return s
}

func upTo(r *rand.Rand, least, most uint8) uint8 { return least + uint8(r.IntN(int(most-least)+1)) }

func fieldName(f model.Field) string { return fmt.Sprintf("app:c~%d", f) }

func fieldNames(s model.FieldSet) (names []string) {
	for f := range model.Field(16) {
		if s.Has(f) {
			names = append(names, fieldName(f))
		}
	}
	return names
}

func ticks(n uint8) time.Duration { return time.Duration(n) * tick }
