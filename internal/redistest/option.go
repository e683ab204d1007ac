package redistest

import "strings"

// Option changes how a server is started. Options that set the same thing are
// read in order, and the last one counts.
type Option func(*settings)

// settings is what the options add up to; it is not changed after Start.
type settings struct {
	binary     string
	directives []string
	args       []string
	tls        bool
	appendOnly bool
	password   string
}

// Config adds a line to the server's configuration file, for instance
// Config("maxmemory", "1mb") or Config("user", "bob on >secret ~* +@all"). The
// value is written as it stands, quoting included, except that an empty one
// becomes "". The clients of this package log in with a "requirepass".
func Config(name, value string) Option {
	return func(s *settings) {
		if strings.EqualFold(name, "requirepass") {
			s.password = value
		}
		if value == "" {
			value = `""`
		}
		s.directives = append(s.directives, name+" "+value)
	}
}

// Args adds words to the server's command line, after the configuration file.
func Args(words ...string) Option {
	return func(s *settings) { s.args = append(s.args, words...) }
}

// AppendOnly keeps the data in an append-only file, so that it survives
// [Server.Restart] and [Server.Kill]. Every write is on disk before its answer:
// what a client was told is there after any death of the server.
func AppendOnly() Option {
	return func(s *settings) {
		s.appendOnly = true
		s.directives = append(s.directives, "appendonly yes", "appendfsync always")
	}
}

// TLS makes the server speak TLS alone, with certificates made for it. Clients
// need none of their own; Config("tls-auth-clients", "yes") changes that, and
// [Server.TLSConfig] carries one. A server that was built without TLS skips the
// test, even where [Require] would fail it: the servers that can be had without
// root are such.
func TLS() Option {
	return func(s *settings) { s.tls = true }
}

// Executable runs this server instead of the one that [Binary] finds.
func Executable(path string) Option {
	return func(s *settings) { s.binary = path }
}

func gather(opts []Option) settings {
	var s settings
	for _, opt := range opts {
		opt(&s)
	}
	return s
}
