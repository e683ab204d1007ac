package runner

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes where this runs: absolute times mean nothing elsewhere.
func Machine() string {
	return fmt.Sprintf("%s, %d cores, %s, %s", processor(), runtime.NumCPU(), runtime.GOOS, runtime.Version())
}

// processor is the model's name, where the system tells it.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
