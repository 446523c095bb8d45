package references

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// repository is the real one.
func repository(t *testing.T) *tree {
	t.Helper()
	there, err := readTree(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// Whatever documents and comments name is there.
func TestWhatIsNamedExists(t *testing.T) {
	breaches, err := repository(t).check()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// Each of the cache's invariants is named by a test, so that grep finds what holds it.
func TestInvariantsAreTested(t *testing.T) {
	there := repository(t)
	if n := len(there.invariants()); n < 11 {
		t.Errorf("%d invariants read from %s", n, promises)
	}
	breaches, err := there.checkInvariantsTested()
	if err != nil {
		t.Fatal(err)
	}
	for _, breach := range breaches {
		t.Error(breach)
	}
}

// notYet are directories whose lines are still longer. There are none.
var notYet []string

// Comments and Markdown keep to 120 columns.
func TestProseKeepsToItsWidth(t *testing.T) {
	there := repository(t)
	for _, name := range slices.Concat(there.files(".go"), there.files(".md")) {
		if slices.ContainsFunc(notYet, func(dir string) bool { return strings.HasPrefix(name, dir+"/") }) {
			continue
		}
		breaches, err := there.checkWidth(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, breach := range breaches {
			t.Error(breach)
		}
	}
}

// What is excepted is named somewhere: an exception that nobody needs hides the next mistake.
func TestExceptionsAreNeeded(t *testing.T) {
	texts, err := repository(t).texts()
	if err != nil {
		t.Fatal(err)
	}
	for name := range foreignFlags {
		needed(t, texts, "--"+name)
	}
	for name := range foreignFiles {
		needed(t, texts, name)
	}
}

func needed(t *testing.T, texts []text, name string) {
	t.Helper()
	if !slices.ContainsFunc(texts, func(x text) bool { return strings.Contains(x.body, name) }) {
		t.Errorf("nobody names %s any more", name)
	}
}
