package peers

import (
	"context"
	"hash/fnv"

	"github.com/jackc/pgx/v5"
)

var postgresPeer = Peer{
	Name:     "PostgreSQL",
	Package:  "github.com/jackc/pgx/v5",
	Settings: "pg_advisory_lock and pg_advisory_unlock, prepared, a session for each goroutine, for a session is the owner",
	Store:    Postgres,
	Pushed:   true,
	Sessions: 600,
	Open:     func(c Config) (Client, error) { return postgresClient{c.Addr}, nil },
}

type postgresClient struct{ addr string }

// Handle opens a session.
func (c postgresClient) Handle(name string) (Handle, error) {
	conn, err := pgx.Connect(context.Background(), "postgres://postgres@"+c.addr+"/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	key := fnv.New64a()
	_, _ = key.Write([]byte(name))                        // it knows no failure
	return &postgresHandle{conn, int64(key.Sum64())}, nil //nolint:gosec // any 64 bits do
}

// Close leaves the sessions to the end of the process.
func (postgresClient) Close() error { return nil }

type postgresHandle struct {
	conn *pgx.Conn
	key  int64
}

// Lock waits without a limit.
func (h *postgresHandle) Lock(ctx context.Context) error {
	_, err := h.conn.Exec(ctx, "select pg_advisory_lock($1)", h.key)
	return err
}

// Unlock gives it back.
func (h *postgresHandle) Unlock(ctx context.Context) error {
	_, err := h.conn.Exec(ctx, "select pg_advisory_unlock($1)", h.key)
	return err
}
