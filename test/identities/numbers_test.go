package identities

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// threats is how many there are that tests are numbered by.
const threats = 40

// TestNumbers holds that every numbered threat has a test, in this suite or in another.
func TestNumbers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			var number int
			if f, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				if n, err := fmt.Sscanf(f.Name.Name, "Test%02d", &number); n == 1 && err == nil {
					found[number] = true
				}
			}
		}
	}
	for number := 1; number <= threats; number++ {
		if !found[number] {
			t.Errorf("%02d has no test", number)
		}
	}
}
