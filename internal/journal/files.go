package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

const (
	lanesDir     = "lanes"
	documentsDir = "documents"
	lockName     = "lock"
	suffix       = ".segment"
	digits       = 10 // minimum number of digits in a file name; leading zeros make names sort by number
)

func fileName(sequence uint64) string { return fmt.Sprintf("%0*d", digits, sequence) + suffix }

func sequenceOf(name string) (sequence uint64, ok bool) {
	number, ok := strings.CutSuffix(name, suffix)
	if !ok || len(number) < digits {
		return 0, false
	}
	sequence, err := strconv.ParseUint(number, 10, 64)
	return sequence, err == nil && fileName(sequence) == name
}

type file struct {
	path     string
	sequence uint64
}

// files returns the segments' files in a directory, sorted by sequence number, or none if the directory does not exist.
func files(dir string) ([]file, error) {
	entries, err := ownEntries(dir)
	var all []file
	for _, entry := range entries {
		if sequence, ok := sequenceOf(entry.Name()); ok {
			all = append(all, file{filepath.Join(dir, entry.Name()), sequence})
		}
	}
	slices.SortFunc(all, func(a, b file) int {
		if a.sequence < b.sequence {
			return -1
		}
		return 1
	})
	return all, err
}

// ownEntries reads a directory of the journal. It returns nothing if the directory does not exist. It returns ErrAccess
// if dir is no directory, belongs to another user, or is writable by other users.
func ownEntries(dir string) ([]fs.DirEntry, error) {
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir() || !isOwn(info) || info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s: %w", dir, ErrAccess)
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// openFile opens a file and returns its size. It returns ErrAccess if the file is not a regular one, or if another user
// owns it or may access it. It does not wait for the writer of a named pipe.
func openFile(path string, flags int) (*os.File, int64, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, 0, fmt.Errorf("%s: %w", path, ErrAccess)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular(), info.Mode().Perm()&0o077 != 0, !isOwn(info):
		err = fmt.Errorf("%s: %w", path, ErrAccess)
	default:
		return f, info.Size(), nil
	}
	_ = f.Close()
	return nil, 0, err
}
