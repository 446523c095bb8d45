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

// untrusted lists the inputs from callers and from the upstream, each with its fuzz targets (package and function).
var untrusted = map[string][]string{
	"paths and queries":                {"handlers.FuzzRequest"},
	"requests to be split":             {"internal/split.FuzzDecide"},
	"label selectors":                  {"selectors.FuzzParseLabels"},
	"field selectors":                  {"selectors.FuzzParseFields"},
	"continue tokens":                  {"handlers.FuzzDecodeToken"},
	"Accept":                           {"handlers.FuzzNegotiate"},
	"Audit-Id":                         {"handlers.FuzzAuditID"},
	"bearer tokens":                    {"internal/auth.FuzzToken", "internal/serviceaccount.FuzzParse"},
	"claims of tokens":                 {"internal/serviceaccount.FuzzParseClaims"},
	"names in certificates":            {"internal/auth.FuzzCertificateName"},
	"keys of cached decisions":         {"internal/auth.FuzzKey"},
	"the upstream's frames, JSON":      {"internal/wire/jsonwire.FuzzParseFrame", "internal/wire/jsonwire.FuzzScan"},
	"the upstream's lists, JSON":       {"internal/wire/jsonwire.FuzzSplitList"},
	"the upstream's frames, protobuf":  {"internal/wire/protowire.FuzzFrame", "internal/wire/protowire.FuzzFacts"},
	"the upstream's lists, protobuf":   {"internal/wire/protowire.FuzzList"},
	"the upstream's bookmarks":         {"bookmarks.FuzzLearn"},
	"where the upstream prints an age": {"internal/wire/table.FuzzPath", "internal/wire/table.FuzzAppendCells"},
}

// Every input from outside has fuzz targets, and each target has seeds, which every run of the tests executes. Other
// faults of the upstream are tested in test/faults (garbage, corrupt streams) and internal/reflector. Definitions that
// are deleted and created again are tested in test/watches.
func TestUntrustedInputsHaveSeededFuzzTargets(t *testing.T) {
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

// fuzzTargets returns all fuzz targets of the repository, and whether each has seeds in its source.
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

// calls reports whether a function calls a method with that name.
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
