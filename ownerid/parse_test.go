package ownerid_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/ownerid"
)

func TestParseTakes(t *testing.T) {
	for _, text := range []string{
		"a", "Z", "0", ".", "_", "-", "job-17", "req_01.B", "az-AZ-09", "71b96ce8-2746-4c0b-9f3a-0d5b7a1c2e3f",
		strings.Repeat("x", 128),
	} {
		id, err := ownerid.Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, text, id.String())
		assert.False(t, id.IsZero())
	}
}

func TestParseRefuses(t *testing.T) {
	for text, reason := range map[string]string{
		"":                       "it is empty",
		strings.Repeat("x", 129): "129 bytes, at most 128",
		strings.Repeat("é", 65):  "130 bytes, at most 128", // bytes are what Redis stores, not letters
		"job 17":                 `' ' at byte 3 of "job 17"`,
		" x":                     `' ' at byte 0`,
		"a:b":                    `':' at byte 1`,
		"a~1":                    `'~' at byte 1`,
		"{a}":                    `'{' at byte 0`,
		"a/b":                    `'/' at byte 1`,
		"a@b":                    `'@' at byte 1`,
		"a[b":                    `'[' at byte 1`,
		"a`b":                    "'`' at byte 1",
		"café":                   `'é' at byte 3`,
		"a\x00":                  `'\x00' at byte 1`,
		"a\n":                    `'\n' at byte 1`,
		"a\xff":                  `'�' at byte 1 of "a\xff"`,
	} {
		id, err := ownerid.Parse(text)
		require.ErrorIs(t, err, ownerid.ErrMalformed, "%q", text)
		assert.ErrorContains(t, err, reason)
		assert.ErrorContains(t, err, "ownerid: malformed owner: ")
		assert.True(t, id.IsZero(), "%q", text)
	}
}

func TestParseGivesBackTheSameOwner(t *testing.T) {
	for _, id := range []ownerid.ID{ownerid.New(), ownerid.Goroutine()} {
		again, err := ownerid.Parse(id.String())
		require.NoError(t, err)
		assert.Equal(t, id, again)
	}
}

func TestIsGoroutineMeansBareNumber(t *testing.T) {
	for text, want := range map[string]bool{
		"1": true, "42": true, "0123456789": true,
		"c1": false, "1c": false, "-1": false, "1.0": false, "a": false, "1_0": false,
	} {
		id, err := ownerid.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, id.IsGoroutine(), text)
	}
}
