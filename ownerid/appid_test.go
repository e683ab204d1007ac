package ownerid_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/ownerid"
)

// appIDsEnv turns this test binary into a process that prints application ids and ends.
const appIDsEnv = "OWNERID_TEST_PRINT_APP_IDS"

func TestMain(m *testing.M) {
	if os.Getenv(appIDsEnv) != "" {
		printAppIDs(100)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestNewAppIDIsRandom(t *testing.T) {
	one, err := ownerid.NewAppID("")
	require.NoError(t, err)
	parsed, err := uuid.Parse(one)
	require.NoError(t, err)
	assert.Equal(t, parsed.String(), one, "in the canonical form, as Redisson's")
	assert.Equal(t, uuid.Version(4), parsed.Version())

	other, err := ownerid.NewAppID("")
	require.NoError(t, err)
	assert.NotEqual(t, one, other)
}

func TestNewAppIDPutsTheLabelInFront(t *testing.T) {
	for _, label := range []string{"billing", "pod-7.eu_west", "x", strings.Repeat("l", 64)} {
		id, err := ownerid.NewAppID(label)
		require.NoError(t, err)
		random, labelled := strings.CutPrefix(id, label+"-")
		require.True(t, labelled, id)
		assert.NoError(t, uuid.Validate(random))

		again, err := ownerid.NewAppID(label)
		require.NoError(t, err)
		assert.NotEqual(t, id, again, "a restart under the same label is somebody else")
	}
}

func TestNewAppIDRefusesBadLabels(t *testing.T) {
	for label, reason := range map[string]string{
		"my app":                "' ' at byte 2",
		"a:b":                   "':' at byte 1",
		"{x}":                   "'{' at byte 0",
		"über":                  "'ü' at byte 0",
		strings.Repeat("l", 65): "65 bytes, at most 64",
	} {
		id, err := ownerid.NewAppID(label)
		require.ErrorIs(t, err, ownerid.ErrMalformed, label)
		assert.ErrorContains(t, err, "ownerid: malformed label: ")
		assert.ErrorContains(t, err, reason)
		assert.Empty(t, id)
	}
}

func TestNewAppIDPassesOnALackOfRandomness(t *testing.T) {
	uuid.SetRand(strings.NewReader("")) // a source that is dry at once
	defer uuid.SetRand(nil)

	id, err := ownerid.NewAppID("billing")
	require.ErrorContains(t, err, "ownerid: new application id: EOF")
	assert.NotErrorIs(t, err, ownerid.ErrMalformed)
	assert.Empty(t, id)
}

// Pods of one image start in the same second with the same everything, save the random numbers.
func TestProcessesStartedTogetherNeverShareAnAppID(t *testing.T) {
	const processes = 8
	outputs := make([]bytes.Buffer, processes)
	commands := make([]*exec.Cmd, processes)
	for i := range commands {
		commands[i] = exec.CommandContext(t.Context(), os.Args[0])
		commands[i].Env = append(os.Environ(), appIDsEnv+"=1")
		commands[i].Stdout, commands[i].Stderr = &outputs[i], os.Stderr
		require.NoError(t, commands[i].Start())
	}

	seen := map[string]bool{}
	for i, command := range commands {
		require.NoError(t, command.Wait())
		ids := strings.Fields(outputs[i].String())
		require.Len(t, ids, 100)
		for _, id := range ids {
			require.False(t, seen[id], "%s came twice", id)
			seen[id] = true
		}
	}
}

func printAppIDs(n int) {
	for range n {
		id, err := ownerid.NewAppID("pod")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(id)
	}
}
