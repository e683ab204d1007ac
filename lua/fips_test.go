package lua_test

import (
	"crypto/fips140"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rlock-go/rlock/internal/redistest"
)

// Where SHA-1 is forbidden, so much as naming a script by its digest would panic at start-up. The tests of the scripts run
// once more in such a process.
func TestWithoutSHA1(t *testing.T) {
	if fips140.Enforced() {
		t.Skip("this is the process without")
	}
	redistest.Require(t)
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^(TestScripts|TestFormsOfACall|TestPipeline|TestWithoutSHA1)$")
	child.Env = append(os.Environ(), "GODEBUG=fips140=only")
	output, err := child.CombinedOutput()
	require.NoError(t, err, "%s", output)

	assert.Contains(t, string(output), "--- SKIP: TestWithoutSHA1", "the child was not without SHA-1")
	assert.Contains(t, string(output), "--- PASS: TestFormsOfACall")
	assert.Contains(t, string(output), "--- PASS: TestScripts/acquire/free/redis/resp3")
	assert.Contains(t, string(output), "--- PASS: TestScripts/release/last_level/redis/resp2")
	assert.Contains(t, string(output), "--- PASS: TestPipeline/redis/resp2")
}
