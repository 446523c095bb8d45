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

// Clean removes the snapshots of a directory that are from before a time and not to be kept. It removes nothing that is
// no snapshot.
func Clean(dir string, before time.Time, keep func(name string) bool) error {
	return remove(dir, func(entry fs.DirEntry) bool {
		name := entry.Name()
		info, gone := entry.Info()
		return gone == nil && strings.HasSuffix(name, Suffix) && !strings.HasPrefix(name, ".") && !keep(name) && info.ModTime().Before(before)
	})
}

// CleanUnfinished removes what writers have left in a directory that did not come to an end. Nobody may write there
// meanwhile. It removes nothing that is no beginning of a snapshot.
func CleanUnfinished(dir string) error {
	return remove(dir, func(entry fs.DirEntry) bool {
		name := entry.Name()
		return strings.HasPrefix(name, ".") && strings.HasSuffix(strings.TrimRight(name, "0123456789"), Suffix+".")
	})
}

// remove removes those files of a directory, which need not be there, that begin as snapshots do.
func remove(dir string, which func(fs.DirEntry) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if path := filepath.Join(dir, entry.Name()); which(entry) && isOurs(path) {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// isOurs tells whether a file begins as snapshots do.
func isOurs(path string) bool {
	file, err := open(path)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, len(magic))
	_, err = io.ReadFull(file, head)
	return err == nil && string(head) == magic
}
