package references

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository returns the tree of this repository.
func repository(t *testing.T) *tree {
	t.Helper()
	read, err := readTree(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Everything that documents and comments name exists.
func TestNamedThingsExist(t *testing.T) {
	breaches, err := repository(t).check()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// A test names each invariant of the cache, so that grep finds the test.
func TestInvariantsAreTested(t *testing.T) {
	tree := repository(t)
	if n := len(tree.invariants()); n < 11 {
		t.Errorf("got %d invariants from %s, want at least 11", n, promises)
	}
	breaches, err := tree.checkInvariantsTested()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// notYet are directories with longer lines, which are not checked. There are none.
var notYet []string

// Comments and Markdown have at most 120 columns.
func TestProseHasAtMost120Columns(t *testing.T) {
	tree := repository(t)
	for _, name := range slices.Concat(tree.files(".go"), tree.files(".md")) {
		if slices.ContainsFunc(notYet, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) {
			continue
		}
		breaches, err := tree.checkWidth(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, breach := range breaches {
			t.Error(breach)
		}
	}
}

// Each exception is used, because an unused exception can hide a mistake.
func TestExceptionsAreUsed(t *testing.T) {
	texts, err := repository(t).texts()
	if err != nil {
		t.Fatal(err)
	}
	for name := range foreignFlags {
		used(t, texts, "--"+name)
	}
	for name := range foreignFiles {
		used(t, texts, name)
	}
}

func used(t *testing.T, texts []text, name string) {
	t.Helper()
	if !slices.ContainsFunc(texts, func(x text) bool { return strings.Contains(x.body, name) }) {
		t.Errorf("no text names %s: remove the exception", name)
	}
}
