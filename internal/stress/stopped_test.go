package stress_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// P1, P4: a process is stopped at a random moment of its hold for longer than the lease, and a rival gets in. When it goes
// on, the first thing it does is to ask Held, and the answer is no; its context is over within 50 ms.
func TestStress_StoppedHolders(t *testing.T) {
	const lease = 400 * time.Millisecond
	p, s := newPlan(t), newStage(t)
	a := stopping{s: s, d: p.dice("stop"), late: watchStalls(t), holder: s.start(stoppedRole, "ann", lease)}
	rounds := tenth(50)
	for i := 0; i < rounds && !s.bad.any(); {
		if a.round(fmt.Sprint("lock", i), lease) {
			i++
		}
	}
	t.Logf("%d processes were stopped; the context was over after %v at the latest, with %v of the machine's own lateness; "+
		"%d rounds were void", rounds, a.longest, a.excuse, a.void)
	s.requireNoKeys(lease + time.Second)
	s.verdict(&history{})
	s.closeAll()
}

type stopping struct {
	s      *stage
	d      dice
	late   *stalls
	holder *child

	longest, excuse time.Duration
	void            int
}

// round is one stop. It is void if the machine itself kept the process from running for so long that it seemed to be stopped.
func (a *stopping) round(name string, lease time.Duration) (valid bool) {
	t := a.s.t
	rival := a.s.rival().NewLock(name)
	require.NoError(t, a.holder.held(name))
	time.Sleep(a.d.upTo(lease))
	stopped := instant()
	require.NoError(t, a.holder.cmd.Process.Signal(syscall.SIGSTOP))
	ctx := someone()
	require.NoError(t, rival.Lock(ctx))
	inside := instant()
	time.Sleep(a.d.upTo(lease / 2))
	require.NoError(t, a.holder.cmd.Process.Signal(syscall.SIGCONT))
	line, err := a.holder.line()
	require.NoError(t, err)
	hold, ok := rival.Held(ctx)
	assert.True(t, ok && hold.Held(), "what the holder does when it goes on is no harm to the rival")
	require.NoError(t, rival.Unlock(ctx))

	var (
		resumed, after time.Duration
		held, lost     bool
	)
	_, err = fmt.Sscanf(line, "resumed %d %t %d %t", &resumed, &held, &after, &lost)
	require.NoError(t, err, line)
	if resumed < stopped || resumed < inside {
		a.void++
		return false
	}
	excuse := a.late.within(resumed, resumed+after)
	if after-excuse > a.longest-a.excuse {
		a.longest, a.excuse = after, excuse
	}
	if held || !lost || after > 50*time.Millisecond+excuse {
		a.s.bad.add("Held: %t, told of the loss: %t, after %v of which the machine took %v", held, lost, after, excuse)
	}
	return true
}
