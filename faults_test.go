package rlock_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The table of faults and the tests named for them say the same: each row's tests are there, and each such test has a row.
func TestFaultTable_AndTestsSayTheSame(t *testing.T) {
	tests := sources(t, ".", "_test.go")
	classes, outages, _ := strings.Cut(faultTable(t), "## Outages")
	rows := faultRows(t, classes)
	require.NotEmpty(t, rows)
	for class, row := range rows {
		named := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(row, -1)
		assert.NotEmpty(t, named, "%s: no test", class)
		for _, name := range named {
			assert.True(t, strings.Contains(tests, "func "+name[1]+"("), "%s: no %s", class, name[1]) //nolint:testifylint // it would print all tests
		}
	}
	for _, test := range regexp.MustCompile(`(?m)^func (TestFault_([A-Z]+\d+)_\w+)\(`).FindAllStringSubmatch(tests, -1) {
		assert.Contains(t, rows[test[2]], "`"+test[1]+"`", "not in the row of its class")
	}
	for _, test := range regexp.MustCompile(`(?m)^func (TestOutage_[A-Za-z]+_\w+)\(`).FindAllStringSubmatch(tests, -1) {
		assert.Regexp(t, "(?m)^\\| .*`"+test[1]+"`", outages, "not in the table of outages")
	}
}

// Each test of a fault or an outage says in the comment above it which promise it attacks.
func TestFaultTable_EachTestNamesAPromise(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^((?://.*\n)*)func (Test(?:Fault_[A-Z]+\d+|Outage_[A-Za-z]+)_\w+)\(`)
	all := declared.FindAllStringSubmatch(sources(t, ".", "_test.go"), -1)
	require.NotEmpty(t, all)
	for _, test := range all {
		assert.Regexp(t, `\bP([1-9]|1[01])\b`, test[1], test[2])
	}
}

// faultRows are the rows of the classes, by the name of the class.
func faultRows(t *testing.T, table string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for line := range strings.Lines(table) {
		if class := regexp.MustCompile(`^\| ([A-Z]+\d+) \|`).FindStringSubmatch(line); class != nil {
			assert.NotContains(t, rows, class[1], "a class has one row")
			rows[class[1]] = line
		}
	}
	return rows
}

func faultTable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("docs/faults.md")
	require.NoError(t, err)
	return string(text)
}
