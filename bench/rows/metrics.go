package rows

// The metrics, by the names that files and bars use.
const (
	PerSecond         = "per_second"
	PairP50           = "pair_p50"
	PairP99           = "pair_p99"
	WaitP50           = "wait_p50"
	WaitP99           = "wait_p99"
	WaiterP99         = "waiter_p99"
	WaitMax           = "wait_max"
	Stuck             = "stuck"
	PingRatio         = "ping_ratio"
	Allocs            = "allocs"
	Commands          = "commands"
	CommandsPerSecond = "commands_per_second"
	ClientCores       = "client_cores"
	ClientCPU         = "client_cpu"
	ServerCores       = "server_cores"
	ServerCPU         = "server_cpu"
	Fairness          = "fairness"
	ProcessShare      = "process_share"
	Subscribers       = "subscribers"
	Connections       = "connections"
	HeapPerWaiter     = "heap_per_waiter"
	BytesPerHold      = "bytes_per_hold"
	Routines          = "routines"
	Lost              = "lost"
	OtherP99          = "other_p99"
	OtherMax          = "other_max"
	QuietMax          = "quiet_max"
	LatestRenewal     = "latest_renewal"
)

// Metric is how a metric is shown.
type Metric struct {
	Title string
	Unit  string // seconds, bytes, or "" for a plain number
	Note  string // what exactly it is
}

// Units that are shown with a prefix.
const (
	Seconds = "s"
	Bytes   = "B"
)

// Metrics are all of them.
var Metrics = map[string]Metric{
	PerSecond:         {"acquisitions/s", "", "acquisitions a second, each with its release"},
	PairP50:           {"pair p50", Seconds, "median time of lock and unlock together"},
	PairP99:           {"pair p99", Seconds, "the same, 99th percentile"},
	WaitP50:           {"wait p50", Seconds, "median time from the call of Lock to its return"},
	WaitP99:           {"wait p99", Seconds, "the same, 99th percentile"},
	WaiterP99:         {"waiter p99", Seconds, "what 99 % of a goroutine's waits do not exceed, of the goroutine in the middle"},
	WaitMax:           {"longest", Seconds, "the longest of all of them, also of those that end after the measured time"},
	Stuck:             {"never woken", "", "waiters that had not got in 15 s after all others had stopped and the lock was free"},
	PingRatio:         {"÷ 2 PINGs", "", "pair p50 divided by the median of two PINGs on the same kind of connection"},
	Allocs:            {"allocs", "", "allocations of the process for one lock and unlock, those of the Redis client included"},
	Commands:          {"commands", "", "commands sent to Redis for one acquisition with its release"},
	CommandsPerSecond: {"commands/s", "", "commands sent to Redis a second, by all processes"},
	ClientCores:       {"client cores", "", "processor seconds a second of all client processes (getrusage)"},
	ClientCPU:         {"client CPU", Seconds, "processor time of the clients for one acquisition"},
	ServerCores:       {"server cores", "", "processor seconds a second of the server (INFO used_cpu_*; /proc for others)"},
	ServerCPU:         {"server CPU", Seconds, "processor time of the server for one acquisition"},
	Fairness:          {"min/max", "", "acquisitions of the goroutine that got the fewest ÷ of the one that got the most"},
	ProcessShare:      {"least process", "", "acquisitions of the process that got the fewest ÷ the fair share"},
	Subscribers:       {"subscribers", "", "connections that subscribe to a channel or track keys"},
	Connections:       {"connections", "", "all connections of the clients"},
	HeapPerWaiter:     {"heap/waiter", Bytes, "live heap that one waiter added, its handle included; stacks are not heap"},
	BytesPerHold:      {"heap/hold", Bytes, "live heap that one hold added, its handle included"},
	Routines:          {"goroutines", "", "goroutines, or threads, that all holds together added"},
	Lost:              {"lost", "", "holds whose key is not there at the end"},
	OtherP99:          {"PING p99", Seconds, "a PING of another client every millisecond meanwhile, 99th percentile"},
	OtherMax:          {"PING longest", Seconds, "the longest of these"},
	QuietMax:          {"… before", Seconds, "the longest of these in a second before anything was held"},
	LatestRenewal:     {"latest renewal", "", "the latest renewal, as part of the lease, by a look at all TTLs every 2 s"},
}
