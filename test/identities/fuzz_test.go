package identities

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// untrusted is what comes from those whom nobody has to believe, by the package and the target that reads it at random.
var untrusted = map[string][]string{
	"paths and queries":                {"handlers.FuzzRequest"},
	"label selectors":                  {"selectors.FuzzParseLabels"},
	"field selectors":                  {"selectors.FuzzParseFields"},
	"continue tokens":                  {"handlers.FuzzDecodeToken"},
	"Accept":                           {"handlers.FuzzNegotiate"},
	"Audit-Id":                         {"handlers.FuzzAuditID"},
	"bearer tokens":                    {"internal/auth.FuzzToken"},
	"names in certificates":            {"internal/auth.FuzzCertificateName"},
	"what rights are remembered by":    {"internal/auth.FuzzKey"},
	"the upstream's frames, JSON":      {"internal/wire/jsonwire.FuzzParseFrame", "internal/wire/jsonwire.FuzzScan"},
	"the upstream's lists, JSON":       {"internal/wire/jsonwire.FuzzSplitList"},
	"the upstream's frames, protobuf":  {"internal/wire/protowire.FuzzFrame", "internal/wire/protowire.FuzzFacts"},
	"the upstream's lists, protobuf":   {"internal/wire/protowire.FuzzList"},
	"the upstream's bookmarks":         {"bookmarks.FuzzLearn"},
	"where the upstream prints an age": {"internal/wire/table.FuzzPath", "internal/wire/table.FuzzAppendCells"},
}

// Test40Fuzz holds that whatever comes from outside is also read at random, and that each target has seeds, which every
// run of the tests reads. What the upstream may do beside that is in test/faults (garbage, spoilt streams) and
// internal/reflector; definitions that are deleted and made again are in test/watches.
func Test40Fuzz(t *testing.T) {
	seeded := fuzzTargets(t)
	for what, targets := range untrusted {
		for _, target := range targets {
			switch seeds, there := seeded[target]; {
			case !there:
				t.Errorf("%s: there is no %s", what, target)
			case !seeds:
				t.Errorf("%s: %s has no seeds", what, target)
			}
		}
	}
}

// fuzzTargets are all that there are, by their packages, and whether each has seeds in its source.
func fuzzTargets(t *testing.T) map[string]bool {
	t.Helper()
	root := filepath.Join("..", "..")
	targets := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "testdata", "devcluster", "clients"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		in, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Fuzz") {
				targets[filepath.ToSlash(in)+"."+f.Name.Name] = calls(f, "Add")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

// calls tells whether a function calls a method of a name.
func calls(f *ast.FuncDecl, method string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == method {
				found = true
			}
		}
		return !found
	})
	return found
}
