package servers

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"go.etcd.io/etcd/api/v3/version"
	"go.etcd.io/etcd/server/v3/embed"
)

// EtcdCommand is the subcommand under which this program is an etcd server: etcd is a Go library, so no other program is
// needed, and in a process of its own its work is not the client's.
const EtcdCommand = "etcd-server"

func startEtcd(ctx context.Context, dir string) (*Server, error) {
	client, err := freePort()
	if err != nil {
		return nil, err
	}
	peer, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, EtcdCommand, dir, strconv.Itoa(client), strconv.Itoa(peer)) //nolint:gosec // ourselves
	proc, err := launch(cmd, dir)
	if err != nil {
		return nil, err
	}
	s := &Server{Addr: "127.0.0.1:" + strconv.Itoa(client), proc: proc, Version: "etcd " + version.Version + ", state on tmpfs"}
	return s, awaitPort(ctx, proc, s.Addr)
}

// ServeEtcd runs an etcd server until ctx ends. The words are those that startEtcd gave.
func ServeEtcd(ctx context.Context, words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("servers: %s wants a directory and two ports", EtcdCommand)
	}
	client, err := url.Parse("http://127.0.0.1:" + words[1])
	if err != nil {
		return err
	}
	peer, err := url.Parse("http://127.0.0.1:" + words[2])
	if err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(words[0], "data")
	cfg.LogLevel = "error"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	server, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("servers: etcd: %w", err)
	}
	defer server.Close()
	select {
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}
