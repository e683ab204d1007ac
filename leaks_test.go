package rlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every package with tests looks for goroutines that they leave behind.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	t.Parallel()
	looks := map[string]bool{}
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || isModule(path)):
			return fs.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			dir := filepath.Dir(path)
			looks[dir] = looksForLeaks(t, path) || looks[dir]
		}
		return nil
	}))
	assert.Greater(t, len(looks), 10, "packages with tests")
	for dir, looked := range looks {
		assert.True(t, looked, "%s: no TestMain that leaves the search for leaks to goleak or redistest", dir)
	}
}

// isModule: the folder is a module of its own, and not this one.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// looksForLeaks reports whether the file has a TestMain that searches.
func looksForLeaks(t *testing.T, path string) bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := false
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "TestMain" {
			ast.Inspect(f.Body, func(n ast.Node) bool {
				found = found || isCall(n, "goleak", "VerifyTestMain") || isCall(n, "redistest", "Main")
				return true
			})
		}
	}
	return found
}

func isCall(n ast.Node, pkg, name string) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || function.Sel.Name != name {
		return false
	}
	of, ok := function.X.(*ast.Ident)
	return ok && of.Name == pkg
}
