package redistest

import (
	"fmt"
	"os"
	"strings"
)

// writeConfig writes the configuration file anew for every run: a file rather
// than arguments, because then its quoting is the same in every version and
// CONFIG REWRITE has something to write to.
func (n *node) writeConfig() error {
	if err := os.MkdirAll(n.dataDir(), 0o700); err != nil {
		return err
	}
	lines := append(n.baseConfig(), n.settings.directives...)
	return os.WriteFile(n.configPath(), []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func (n *node) baseConfig() []string {
	lines := []string{
		"bind 127.0.0.1",
		"daemonize no",
		fmt.Sprintf("dir %q", n.dataDir()),
		`save ""`,
		"appendonly no",
	}
	if n.tls == nil {
		return append(lines, fmt.Sprintf("port %d", n.port))
	}
	return append(lines,
		"port 0",
		fmt.Sprintf("tls-port %d", n.port),
		fmt.Sprintf("tls-cert-file %q", certificatePath(n.dir)),
		fmt.Sprintf("tls-key-file %q", keyPath(n.dir)),
		fmt.Sprintf("tls-ca-cert-file %q", certificatePath(n.dir)),
		"tls-auth-clients no",
	)
}
