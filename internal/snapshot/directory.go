package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrNoDirectory is returned when no snapshot can be written to the directory.
var ErrNoDirectory = errors.New("cannot write snapshots to this directory")

// Found is a snapshot file of an earlier process.
type Found struct {
	Name   string
	Size   int64 // in bytes
	Header Header
	Err    error // error of Open if the file is damaged or unreadable; Header is then empty
}

// Left verifies all snapshots in a directory, and returns them with their errors. It returns none if the directory does
// not exist. It fails if the directory cannot be read or the context ends.
func Left(ctx context.Context, dir string) ([]Found, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all []Found
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), Suffix) || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		found := Found{Name: entry.Name()}
		if info, err := entry.Info(); err == nil {
			found.Size = info.Size()
		}
		s, err := Open(ctx, filepath.Join(dir, entry.Name()))
		if err == nil {
			found.Header, err = s.Header, s.Close()
		}
		found.Err = err
		all = append(all, found)
	}
	return all, errors.Join(err, context.Cause(ctx))
}

// Space returns how many bytes this process can still write to a directory, and whether the directory exists. It
// creates nothing. It returns ErrNoDirectory if the process may not write there.
func Space(dir string) (free uint64, exists bool, err error) {
	at := filepath.Clean(dir)
	info, err := os.Stat(at)
	for exists = true; errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); exists = false {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err != nil:
		return 0, exists, fmt.Errorf("%w: %w", ErrNoDirectory, err)
	case !info.IsDir():
		return 0, exists, fmt.Errorf("%w: %s is not a directory", ErrNoDirectory, at)
	}
	const writeAndEnter = 2 | 1
	if err := syscall.Access(at, writeAndEnter); err != nil {
		return 0, exists, fmt.Errorf("%w: %s: %w", ErrNoDirectory, at, err)
	}
	var system syscall.Statfs_t
	if err := syscall.Statfs(at, &system); err != nil {
		return 0, exists, fmt.Errorf("%w: %s: %w", ErrNoDirectory, at, err)
	}
	return system.Bavail * uint64(system.Bsize), exists, nil //nolint:gosec // a block size is positive
}
