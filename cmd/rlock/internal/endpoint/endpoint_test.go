package endpoint_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rlock-go/rlock/cmd/rlock/internal/endpoint"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpenLeadsToTheRedisOfTheURL(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	server.RequireAuth("s3cret")
	got, err := endpoint.Open(t.Context(), "redis://:s3cret@"+server.Addr()+"/3")
	require.NoError(t, err)
	defer func() { assert.NoError(t, got.Close()) }()
	require.NoError(t, got.Set(t.Context(), "here", 1, 0).Err())
	assert.Equal(t, []string{"here"}, server.DB(3).Keys())
}

func TestOpenDoesNotRepeatWhatTheURLSays(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "s3cret", ":s3cret", "s3cret:s3cret", "redis://:s3cret/", "redis://:s3cret#@h", "redis://:1?s3cret@h", "redis://h/s3cret",
		"redis://h?read_timeout=s3cret", "redis://%s3cret", "redis://[s3cret", "unix://s3cret?db=s3cret", "redis://h\n:s3cret",
	} {
		_, err := endpoint.Open(t.Context(), url)
		if assert.Error(t, err, url) {
			assert.NotContains(t, err.Error(), "s3cret", url)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
}

func TestOpenGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Close()) }()
	why := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })

	_, err = endpoint.Open(ctx, "redis://"+silent.Addr().String())
	assert.ErrorIs(t, err, why)
}
