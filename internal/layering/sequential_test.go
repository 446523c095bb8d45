package layering

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sequential matches the list of packages that `make test` runs without the race detector.
var sequential = regexp.MustCompile(`(?m)^SEQUENTIAL := ((?:.*\\\n)*.*)$`)

// Packages without goroutines have no data races, so they need no race detector.
func TestSequentialPackagesStartNoGoroutine(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	found := sequential.FindSubmatch(makefile)
	if found == nil {
		t.Fatal("the Makefile has no list SEQUENTIAL")
	}
	sources, err := readTree(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	packages := byDir(sources)
	for _, name := range strings.Fields(strings.ReplaceAll(string(found[1]), "\\\n", " ")) {
		files := packages[strings.TrimPrefix(name, "./")]
		if len(files) == 0 {
			t.Errorf("package %s does not exist", name)
		}
		for _, s := range files {
			for _, line := range startsGoroutine(s) {
				t.Errorf("%s:%d: starts a goroutine: remove %s from SEQUENTIAL", s.path, line, name)
			}
		}
	}
}

// startsGoroutine returns the lines that start a goroutine: a go statement, WaitGroup.Go, errgroup's Go, or T.Parallel.
func startsGoroutine(s *source) []int {
	var lines []int
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		starts := false
		switch x := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.CallExpr:
			of, ok := x.Fun.(*ast.SelectorExpr)
			starts = ok && (of.Sel.Name == "Go" || of.Sel.Name == "Parallel")
		}
		if starts {
			lines = append(lines, s.set.Position(n.Pos()).Line)
		}
		return true
	})
	return lines
}
