package main_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}, {"demo", "-h"}, {"demo", "--help"}} {
		got := rlock(t, nil, args...)
		assert.Zero(t, got.code, args)
		assert.Contains(t, got.stdout, "rlock demo [--redis URL]", args)
		assert.Empty(t, got.stderr, args)
	}
}

func TestACommandLineThatMakesNoSense(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		says string
	}{
		"nothing":         {nil, "rlock demo [--redis URL]"},
		"unknown command": {[]string{"dmeo"}, `unknown command "dmeo"`},
		"unknown option":  {[]string{"demo", "--rdis", "redis://:s3cret@localhost"}, "rdis"},
		"bare URL":        {[]string{"demo", "redis://:s3cret@localhost"}, "options only"},
		"no URL":          {[]string{"demo", "--redis"}, "redis"},
		"empty URL":       {[]string{"demo", "--redis="}, "--redis is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := rlock(t, nil, tt.args...)
			assert.Equal(t, 2, got.code)
			assert.Contains(t, got.stderr, tt.says)
			assert.NotContains(t, got.stderr, "s3cret")
			assert.Empty(t, got.stdout)
		})
	}
}
