package clock_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/clock"
)

// The kernel counts /proc/uptime through suspensions, as Boot must.
func TestBootIsTheUptime(t *testing.T) {
	now := clock.Boot()
	before := now()
	uptime := readUptime(t)
	after := now()

	const grain = 10 * time.Millisecond // the file has two decimals
	assert.GreaterOrEqual(t, uptime, before-grain)
	assert.LessOrEqual(t, uptime, after+grain)
}

func TestTwoBootClocksAgree(t *testing.T) {
	one, other := clock.Boot(), clock.Boot()
	first, second, third := one(), other(), one()
	assert.LessOrEqual(t, first, second)
	assert.LessOrEqual(t, second, third)
}

func readUptime(t *testing.T) time.Duration {
	t.Helper()
	line, err := os.ReadFile("/proc/uptime")
	require.NoError(t, err)
	seconds, _, _ := strings.Cut(string(line), " ")
	uptime, err := time.ParseDuration(seconds + "s")
	require.NoError(t, err)
	return uptime
}
