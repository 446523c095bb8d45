package snapshot

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Clean removes the snapshots in a directory that were modified before the given time, unless keep returns true for the
// file name. It removes only files that begin with the magic line.
func Clean(dir string, before time.Time, keep func(name string) bool) error {
	return remove(dir, func(entry fs.DirEntry) bool {
		name := entry.Name()
		info, err := entry.Info()
		return err == nil && strings.HasSuffix(name, Suffix) && !strings.HasPrefix(name, ".") && !keep(name) &&
			info.ModTime().Before(before)
	})
}

// CleanUnfinished removes the temporary files of writers that did not finish. No writer may use the directory at the
// same time. It removes only files that begin with the magic line.
func CleanUnfinished(dir string) error {
	return remove(dir, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return strings.HasPrefix(name, ".") && strings.HasSuffix(strings.TrimRight(name, "0123456789"), Suffix+".")
	})
}

// remove removes the files in a directory for which matches returns true, if they begin with the magic line. A missing
// directory is no error.
func remove(dir string, matches func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); matches(entry) && isSnapshot(path) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// isSnapshot reports whether a file begins with the magic line of snapshots.
func isSnapshot(path string) bool {
	file, err := open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == magic
}
