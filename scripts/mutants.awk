# Of the test files of a package, prints those that the tests called `tests` have no use for: neither hold one of them nor
# declare what the others need. It goes by names and keeps too much rather than too little.
FNR == 1 { files[++n] = FILENAME; block = 0 }
{ gsub(/"([^"\\]|\\.)*"/, ""); sub(/\/\/.*/, "") }
/^(var|const|type) \($/ { block = 1 }
/^\)/ { block = 0 }
/^(func|type|var|const) [(A-Za-z_]/ || block && /^\t[A-Za-z_]/ {
	name = $0
	sub(/^(func|type|var|const)? *\t*/, "", name)
	if (sub(/^\([^)]*\) /, "", name)) name = "." name # a method
	sub(/[^A-Za-z_0-9.].*/, "", name)
	if (name ~ tests || name == "TestMain") kept[FILENAME] = 1
	else if (name !~ /^(Test|Benchmark|Example|Fuzz|init$|$)/) declared[name] = declared[name] " " FILENAME
}
{
	while (match($0, /\.?[A-Za-z_][A-Za-z_0-9]*/)) {
		used[FILENAME, substr($0, RSTART, RLENGTH)] = 1
		$0 = substr($0, RSTART + RLENGTH)
	}
}
END {
	for (more = 1; more;) {
		more = 0
		for (use in used) {
			split(use, by, SUBSEP)
			if (!(by[1] in kept)) continue
			m = split(declared[by[2]], where, " ")
			for (i = 1; i <= m; i++) if (!(where[i] in kept)) more = kept[where[i]] = 1
		}
	}
	for (i = 1; i <= n; i++) if (!(files[i] in kept)) print files[i]
}
