package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Root returns the root of the repository. A test runs in the directory of its package.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		_, missing := os.Stat(filepath.Join(dir, "go.mod"))
		if missing == nil {
			return dir
		}
		if !errors.Is(missing, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			err = missing
		}
	}
	t.Fatal(err)
	return ""
}

// Text returns the text of a block of a document. If the table of claims.go has the document, Text fails unless the
// table says that the test's package uses this block.
func Text(t testing.TB, document, section string, number int) string {
	t.Helper()
	root := Root(t)
	dir, err := os.Getwd()
	if err == nil {
		dir, err = filepath.Rel(root, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	table, complete := claims[document]
	if complete && !slices.ContainsFunc(table, func(c claim) bool {
		return c.section == section && c.number == number && c.pkg == filepath.ToSlash(dir)
	}) {
		t.Fatalf("internal/testkit/document/claims.go does not say that %s uses block %d of %q in %s", dir, number, section, document)
	}
	for _, block := range read(t, document) {
		if block.Section == section && block.Number == number {
			return block.Text
		}
	}
	t.Fatalf("%s has no block %d in the section %q", document, number, section)
	return ""
}

// read returns the blocks of a document.
func read(t testing.TB, document string) []Block {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(document)))
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(text))
}
