package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Space returns how many bytes this process can still write to a directory, and whether the directory exists. It does
// not create the directory. It returns ErrNoDirectory if the process cannot write there.
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
