#!/usr/bin/env bash
# Runs every fuzz target of this module, one after the other, for as long as $1
# says: scripts/fuzz.sh 30s. It stops at the first failure and says where the
# input that caused it was kept: in the repository every go test runs it again.
set -euo pipefail
cd "$(dirname "$0")/.."
duration="${1:?for how long each? scripts/fuzz.sh 30s}"

grep -rno --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file _ func; do
	package="$(dirname "$file")"
	target="${func#func }"
	echo "=== $target in $package, for $duration"
	# To minimise what merely looks interesting would take most of the time: targets
	# with goroutines seldom reach the same lines twice.
	if ! go test -run '^$' -fuzz "^$target\$" -fuzztime "$duration" -fuzzminimizetime 10x "$package" </dev/null; then
		echo "*** $target fails. Unless a seed does, its input is the newest file in $package/testdata/fuzz/$target:" >&2
		ls -t "$package/testdata/fuzz/$target" | head -n 1 >&2
		exit 1
	fi
done
