package snapshot

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSpace checks that Space finds out whether snapshots can be written, and creates nothing.
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

// TestLeft checks that Left reports complete and damaged snapshots, and ignores every other file.
func TestLeft(t *testing.T) {
	dir := t.TempDir()
	_, whole := written(t)
	for name, content := range map[string][]byte{
		"b" + Suffix: whole, "a" + Suffix: whole[1:], "notes.txt": whole, ".c" + Suffix + ".123": whole, ".d" + Suffix: whole,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := Left(t.Context(), dir)
	if err != nil || len(found) != 2 || !errors.Is(found[0].Err, ErrBroken) || found[1].Err != nil || found[1].Header != header || found[1].Size != int64(len(whole)) {
		t.Errorf("got %+v, %v", found, err)
	}
	if found, err := Left(t.Context(), filepath.Join(dir, "none")); err != nil || len(found) > 0 {
		t.Errorf("got %+v, %v", found, err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Left(over, dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
