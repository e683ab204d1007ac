package redistest

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// RequireVersion calls [Require], and then skips a test whose server is older
// than this version, loudly and even with RLOCK_REQUIRE_REDIS=1: old servers are
// tested on purpose. Forks of Redis count by their own versions.
func RequireVersion(t testing.TB, major, minor int) {
	t.Helper()
	Require(t)
	binary, _ := Binary()
	out, err := exec.Command(binary, "--version").CombinedOutput()
	if err != nil {
		t.Fatalf("redistest: asking %s for its version: %v", binary, err)
	}
	haveMajor, haveMinor := version(string(out))
	if haveMajor < major || haveMajor == major && haveMinor < minor {
		skip(t, "no redis-server "+strconv.Itoa(major)+"."+strconv.Itoa(minor)+" or later")
	}
}

var versionPattern = regexp.MustCompile(`v=(\d+)\.(\d+)`)

// version is 0, 0 where the server does not tell.
func version(text string) (major, minor int) {
	found := versionPattern.FindStringSubmatch(text)
	if found == nil {
		return 0, 0
	}
	major, _ = strconv.Atoi(found[1])
	minor, _ = strconv.Atoi(found[2])
	return major, minor
}
