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

// ErrNoDirectory says that no snapshot can be written where it was said.
var ErrNoDirectory = errors.New("no snapshot can be written there")

// Found is a file that a process has left.
type Found struct {
	Name   string
	Size   int64 // in bytes
	Header Header
	Err    error // why it is not whole or not to be read, as Open fails; then there is no Header
}

// Left returns the snapshots of a directory, after a look at all of each; none where there is no directory. It fails
// when the directory cannot be read, or the context ends.
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

// Space tells how many bytes are free for who writes into a directory, which need not be there yet, and whether it is.
// It makes nothing. It fails with ErrNoDirectory where nothing may be written.
func Space(dir string) (free uint64, made bool, err error) {
	at := filepath.Clean(dir)
	info, err := os.Stat(at)
	for made = true; errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); made = false {
		at = filepath.Dir(at)
		info, err = os.Stat(at)
	}
	switch {
	case err != nil:
		return 0, made, fmt.Errorf("%w: %w", ErrNoDirectory, err)
	case !info.IsDir():
		return 0, made, fmt.Errorf("%w: %s is no directory", ErrNoDirectory, at)
	}
	const writeAndEnter = 2 | 1
	if err := syscall.Access(at, writeAndEnter); err != nil {
		return 0, made, fmt.Errorf("%w: %s: %w", ErrNoDirectory, at, err)
	}
	var system syscall.Statfs_t
	if err := syscall.Statfs(at, &system); err != nil {
		return 0, made, fmt.Errorf("%w: %s: %w", ErrNoDirectory, at, err)
	}
	return system.Bavail * uint64(system.Bsize), made, nil //nolint:gosec // a size of a block is above 0
}
