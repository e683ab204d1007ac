package ownerid_test

import (
	"context"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/ownerid"
)

// The rule of the documentation, said a second time and in another way.
var (
	wellFormed = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`)
	bareNumber = regexp.MustCompile(`\A[0-9]+\z`)
)

// FuzzParse: a text from outside is an owner or an error, never both and never a panic; and an owner is the same one again
// after it travelled as text, on a context or in a lock's field.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"job-17", "c1", "42", "", "a:b", "a~1", "{a}", "café", "a\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ownerid.Parse(text)
		if !wellFormed.MatchString(text) {
			require.ErrorIs(t, err, ownerid.ErrMalformed)
			require.True(t, id.IsZero(), "nobody comes out of an error")
			require.False(t, id.IsGoroutine())
			return
		}
		require.NoError(t, err)
		require.False(t, id.IsZero())
		require.Equal(t, text, id.String())
		require.Equal(t, bareNumber.MatchString(text), id.IsGoroutine())

		again, err := ownerid.Parse(id.String())
		require.NoError(t, err)
		assert.Equal(t, id, again)
		carried, ok := ownerid.FromContext(ownerid.NewContext(context.Background(), id))
		assert.True(t, ok)
		assert.Equal(t, id, carried)
		assert.NotEqual(t, ownerid.Goroutine(), mustParse(t, "x"+text[:min(len(text), 127)]), "no name is a goroutine's")
	})
}

// FuzzLabel: what NewAppID takes for a label is a text that Parse takes too, and stands in front of the id as it is.
func FuzzLabel(f *testing.F) {
	for _, label := range []string{"billing", "pod-7.eu_west", "", "my app", "a:b", "{x}"} {
		f.Add(label)
	}
	f.Fuzz(func(t *testing.T, label string) {
		id, err := ownerid.NewAppID(label)
		if label != "" && (len(label) > 64 || !wellFormed.MatchString(label)) {
			require.ErrorIs(t, err, ownerid.ErrMalformed)
			require.Empty(t, id)
			return
		}
		require.NoError(t, err)
		const random = len("71b96ce8-2746-4c0b-9f3a-0d5b7a1c2e3f")
		require.Len(t, id, len(label)+min(len(label), 1)+random)
		assert.Equal(t, label, id[:len(label)])
		assert.Regexp(t, wellFormed, id, "nothing in it that a field or a key gives a meaning to")
	})
}

func mustParse(t *testing.T, text string) ownerid.ID {
	t.Helper()
	id, err := ownerid.Parse(text)
	require.NoError(t, err)
	return id
}
