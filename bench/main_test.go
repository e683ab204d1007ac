package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/bench/peers"
	"github.com/rlock-go/rlock/bench/report"
	"github.com/rlock-go/rlock/bench/rows"
)

// TestMain lets this binary be the program: it starts itself for every process of a cell.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestRun measures two peers at one row of every kind, for a moment each. What has to be there is there.
func TestRun(t *testing.T) {
	s := full
	s.json = filepath.Join(t.TempDir(), "results.json")
	s, err := s.parse("run", []string{
		"-rows=uncontended,distinct64,hot4x4,waiters2000", "-peers=rlock,rueidislock", "-rounds=1", "-work=100ms",
		"-warmup=50ms", "-still=200ms",
	})
	require.NoError(t, err)
	got, err := s.measure(t.Context())
	require.NoError(t, err)
	assert.Empty(t, got.Failures())
	saved, err := report.Load(s.json)
	require.NoError(t, err)
	assert.Equal(t, got.Rows, saved.Rows)
	for _, row := range got.Rows {
		for _, metric := range row.Columns {
			_, ok := row.Spread(peers.Ours, metric)
			assert.True(t, ok, "%s has no %s", row.Name, metric)
		}
	}
}

func TestChoose(t *testing.T) {
	name := func(r rows.Row) string { return r.Name }
	all, err := choose("", rows.All(), name)
	require.NoError(t, err)
	assert.Len(t, all, len(rows.All()))
	some, err := choose("hot16,uncontended", rows.All(), name)
	require.NoError(t, err)
	require.Len(t, some, 2)
	assert.Equal(t, "hot16", some[0].Name)
	_, err = choose("hot17", rows.All(), name)
	assert.ErrorContains(t, err, `no "hot17" among uncontended`)
}
