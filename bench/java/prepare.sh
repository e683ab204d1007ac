#!/bin/sh
# Fetches the jars of Redisson and ZooKeeper from Maven Central, once, and compiles the
# Redisson cell. Exit status 1, loudly: the tables go without them.
set -u
cd "$(dirname "$0")" || exit 1

lack() {
	echo "*** $1" >&2
	echo "*** REDISSON AND ZOOKEEPER STAY UNMEASURED. In Debian: apt-get install default-jdk-headless maven" >&2
	exit 1
}

for program in java javac mvn; do
	command -v "$program" >/dev/null || lack "no $program on this machine"
done

# fetch FOLDER: the jars that its pom.xml names, unless they are there. The list is
# kept beside them, so that a changed version is fetched anew.
fetch() {
	cmp -s "$1/pom.xml" "$1/lib/pom.xml" && return
	echo "fetching the jars of $1 from Maven Central, once" >&2
	rm -rf "$1/lib"
	mvn -q -B -f "$1/pom.xml" dependency:copy-dependencies \
		-DoutputDirectory=lib -DincludeScope=runtime >&2 &&
		cp "$1/pom.xml" "$1/lib/pom.xml"
}

fetch redisson || lack "Maven did not give Redisson"
fetch zookeeper || echo "*** Maven did not give ZooKeeper, which stays unmeasured" >&2
javac -Xlint:all,-classfile -Werror -cp 'redisson/lib/*' -d redisson/classes redisson/*.java ||
	lack "the Redisson cell does not compile"
