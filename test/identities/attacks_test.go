package identities

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fewestAttacks is a lower bound of the rows, so that a table that is not found fails the test.
const fewestAttacks = 40

var quoted = regexp.MustCompile("`([^`]+)`")

// TestEveryAttackInSecurityHasTests reads the table "Attacks that are tested" of SECURITY.md. Each row names the
// packages and the tests of an attack. Each test must exist in one of them, and each package must have one of the
// tests.
func TestEveryAttackInSecurityHasTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Attacks that are tested\n")
	section, _, _ = strings.Cut(section, "\n## ")
	attacks := 0
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || cells[0] == "attack" || strings.HasPrefix(cells[0], "-") {
			continue
		}
		attacks++
		packages, tests := names(cells[1]), names(cells[2])
		if len(packages) == 0 || len(tests) == 0 {
			t.Errorf("%q: got packages %q and tests %q, want at least one of each", cells[0], packages, tests)
		}
		var defined []string
		for _, in := range packages {
			of := testsIn(t, filepath.Join("..", "..", filepath.FromSlash(in)))
			if !slices.ContainsFunc(tests, func(test string) bool { return slices.Contains(of, test) }) {
				t.Errorf("%q: %s defines none of %q", cells[0], in, tests)
			}
			defined = append(defined, of...)
		}
		for _, test := range tests {
			if !slices.Contains(defined, test) {
				t.Errorf("%q: no package of %q defines %s", cells[0], packages, test)
			}
		}
	}
	if attacks < fewestAttacks {
		t.Errorf("got %d rows in the table of SECURITY.md, want at least %d", attacks, fewestAttacks)
	}
}

// names returns the words of a table's cell that are between backquotes.
func names(cell string) []string {
	var all []string
	for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
		all = append(all, match[1])
	}
	return all
}

// testsIn returns the names of the test functions in a directory.
func testsIn(t *testing.T, directory string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(directory, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range parsed.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				all = append(all, f.Name.Name)
			}
		}
	}
	return all
}
