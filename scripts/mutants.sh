#!/usr/bin/env bash
# Takes out one mechanism after the other, in copies of the tree. The test that is named for it must fail: a mutant that
# survives is a missing test.
#
#   scripts/mutants.sh                    every patch in mutants/
#   scripts/mutants.sh p04 'rule0[1-3]'   those whose names begin so
#   SAMPLE=8 SEED=1 scripts/mutants.sh    eight of them by chance; the seed repeats the choice
#   CHECK=1 scripts/mutants.sh            only whether each applies
#   JOBS=1 scripts/mutants.sh             one at a time, and not one for each processor
#
# A patch says first what it takes out and what breaks then, and has a line "Killed by: ./package ^TestName$", a regexp as
# for go test -run. "(time-out)" or "(leak)" at its end: the failure is that the tests hang, or leave a goroutine behind.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
cd "$here/.."

patience=40s # for one run of a test
jobs="${JOBS:-$(getconf _NPROCESSORS_ONLN)}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
touch "$work/complaints"
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-buildvcs=false"

complain() { printf '*** %s\n' "$@" && echo "$1" >>"$work/complaints"; }

# header PATCH: what is to fail, and how.
header() { read -r package tests kind < <(sed -n 's/^Killed by: //p' "$1") || { complain "$1 names no test" && false; }; }

# shorten: drops the test files that the tests at hand can do without. Most of the time goes into compiling them.
shorten() { (cd "$tree/$package" && awk -v tests="${tests%%/*}" -f "$here/mutants.awk" ./*_test.go | xargs rm -f); }

lengthen() { git -C "$tree" checkout -q -- "$package/*_test.go"; }

# build: the tests of the package, in a hurry: nothing is optimized, and all trees share the cache.
build() { (cd "$tree" && go test -c -trimpath '-gcflags=./...=-N -l' '-ldflags=-s -w' -o "$tree.test" "$package") 2>&1; }

run() { (cd "$tree/$package" && "$tree.test" -test.timeout="$patience" "$@") 2>&1; }

# failure LOG: what kind of failure it tells of; nothing if it is that of a test.
failure() {
	if grep -q '^panic: test timed out' "$1"; then echo '(time-out)'
	elif grep -q '^goleak: Errors on successful test run' "$1"; then echo '(leak)'
	elif ! grep -q '^ *--- FAIL: ' "$1"; then echo '(crash)'
	fi
}

# attempt PATCH: applies it and tells what comes of it.
attempt() {
	local name="${1#mutants/}" log="$tree.log" began=$SECONDS
	header "$1" || return 0
	git -C "$tree" checkout -q -- .
	if ! git -C "$tree" apply "$PWD/$1"; then
		complain "$name does not apply"
	elif [ -n "${CHECK:-}" ]; then
		return 0
	elif ! { shorten && build || lengthen && build; } >"$log"; then
		complain "$name does not compile" "$(head -n 9 "$log")"
	elif run -test.run "$tests" >"$log"; then
		complain "$name SURVIVES $package $tests"
	elif [ "$(failure "$log")" != "$kind" ]; then
		complain "$name: $package $tests fails, but otherwise than it should: $(failure "$log")" "$(tail -n 20 "$log")"
	else
		printf '%-52s %3d s  %s %s %s\n' "$name" $((SECONDS - began)) "$package" "$tests" "$kind"
	fi
}

# copy: a tree of what is tracked or about to be, with a memory of how it was.
copy() {
	mkdir "$tree"
	git ls-files -co --exclude-standard -z | while IFS= read -rd '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
		tar -cf - --null -T - | tar -xf - -C "$tree"
	git -C "$tree" init -q && git -C "$tree" add -A
}

# worker N: has a tree of its own, and takes its share of the patches.
worker() {
	tree="$work/tree$1"
	[ -d "$tree" ] || copy
	for ((i = $1; i < ${#patches[@]}; i += jobs)); do attempt "${patches[i]}"; done
}

# choose PREFIX...: the patches that are meant.
choose() {
	mapfile -t patches < <(for prefix in "${@:-}"; do compgen -G "mutants/${prefix%.patch}*.patch" || :; done | sort -u)
	[ ${#patches[@]} -gt 0 ] || complain "no patch is called $*"
	[ -n "${SAMPLE:-}" ] || return 0
	SEED="${SEED:-$RANDOM}"
	echo "SAMPLE=$SAMPLE SEED=$SEED"
	mapfile -t patches < <(printf '%s\n' "${patches[@]}" |
		awk -v seed="$SEED" 'BEGIN { srand(seed) } { print rand() "\t" $0 }' | sort | head -n "$SAMPLE" | cut -f 2)
}

# untouched: in the tree as it is each test that is named exists and passes, or else a failure would mean nothing.
untouched() {
	local patch log="$tree.log" every
	declare -A named=()
	for patch in "${patches[@]}"; do
		header "$patch" && named[$package]+="${named[$package]:+|}${tests%%/*}"
	done
	for package in "${!named[@]}"; do
		build || { complain "$package does not compile"; continue; }
		every="$(run -test.list .)"
		for tests in ${named[$package]//|/ }; do
			grep -Eq "$tests" <<<"$every" || complain "$package has no test $tests"
		done
		patience=10m run -test.run "${named[$package]}" >"$log" || complain "$package fails as it is" "$(tail -n 40 "$log")"
	done
}

choose "$@"
tree="$work/tree0"
copy
[ -n "${CHECK:-}" ] || untouched
[ ! -s "$work/complaints" ] || exit 1
workers=()
for ((n = 0; n < jobs; n++)); do worker "$n" & workers+=($!); done
for pid in "${workers[@]}"; do wait "$pid" || complain "a worker died"; done
echo "${#patches[@]} mutants, $(wc -l <"$work/complaints") complaints, $SECONDS s"
[ ! -s "$work/complaints" ]
