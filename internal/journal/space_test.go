package journal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSpace checks that Space finds out whether a journal can be written, and creates nothing.
func TestSpace(t *testing.T) {
	dir, closed := t.TempDir(), t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.Chmod(closed, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct{ exists, fails bool }{
		dir: {exists: true}, filepath.Join(dir, "a", "b"): {}, file: {exists: true, fails: true}, filepath.Join(file, "a"): {exists: true, fails: true},
		closed: {exists: true, fails: os.Geteuid() != 0},
	} {
		free, exists, err := Space(path)
		if exists != want.exists || errors.Is(err, ErrNoDirectory) != want.fails || (err == nil) == want.fails {
			t.Errorf("%s: got %d bytes, exists %t, error %v; want exists %t, failure %t", path, free, exists, err, want.exists, want.fails)
		}
		if err == nil && free == 0 {
			t.Errorf("%s: got 0 free bytes, want more", path)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("got %v, %v, want one entry", entries, err)
	}
}
