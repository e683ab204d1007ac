package peers

var redissonPeer = Peer{
	Name:    "Redisson",
	Package: "org.redisson:redisson:4.7.0",
	Settings: "RLock.lock and unlock by thread; up to 64 connections, 128 at a distance, 5,000 subscriptions a connection, " +
		"else its defaults; OpenJDK, platform threads, ten times the warm-up",
	Store:  Redis,
	Java:   true,
	Pushed: true,
	Renews: true,
	Commands: Commands{
		Inside: []string{"hexists", "hincrby", "pexpire", "pttl", "exists", "publish", "spublish", "get", "set", "hget"},
		Both:   map[string]string{"del": "publish"}, // the unlock script deletes and publishes; the client then deletes its latch
	},
}
