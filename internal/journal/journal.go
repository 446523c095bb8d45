package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// Journal is a directory to which only this process writes. Safe for concurrent use.
type Journal struct {
	dir    string
	lock   *os.File
	zip    *zstd.Encoder
	create func(path string) (disk, error)

	builders sync.Pool // of *builder

	mu      sync.Mutex
	running map[string]bool // directories whose writer began a segment and is not closed
	held    sync.Map        // directories that Hold protects; not under mu, which is locked during disk access
}

// Open opens a directory for writing, creates it if it is missing, and removes the unfinished segments of an earlier
// process. It returns ErrLocked if another process has it open.
func Open(dir string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Join(dir, lanesDir), 0o700); err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	lock, _, err := openFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("open lock of journal: %w", err)
	}
	j := &Journal{dir: dir, lock: lock, create: create, running: map[string]bool{}}
	//nolint:gosec // descriptors are small
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrLocked
		}
		return nil, fmt.Errorf("lock journal: %w", errors.Join(err, lock.Close()))
	}
	j.zip, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(blockSize), zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
	if err == nil {
		err = j.removeUnfinished()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return j, nil
}

// Close lets another process write to the directory. All writers must be closed.
func (j *Journal) Close() error { return j.lock.Close() }

// Lane returns the writer of a lane. The name must be valid as the name of a directory, and not begin with a dot. At
// most one writer of a lane may be in use.
func (j *Journal) Lane(name string) *Writer {
	if name == "" || name[0] == '.' || strings.ContainsAny(name, "/\x00") {
		panic("BUG: invalid name of a lane: " + name)
	}
	return &Writer{journal: j, dir: filepath.Join(j.dir, lanesDir, name)}
}

// Hold makes Retain keep all segments of a lane that is being read. The protection ends when release is called, or when
// the lane's writer begins a segment or is closed. Neither Hold nor release waits for the disk.
func (j *Journal) Hold(name string) (release func()) {
	dir := filepath.Join(j.dir, lanesDir, name)
	j.held.Store(dir, nil)
	return func() { j.held.Delete(dir) }
}

// next creates a lane's directory if it is missing, and returns the number of its next segment. From now on, Retain
// keeps the newest segment of the lane.
func (j *Journal) next(dir string) (uint64, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, err
	}
	all, err := files(dir)
	if err != nil {
		return 0, err
	}
	j.running[dir] = true
	j.held.Delete(dir)
	if len(all) == 0 {
		return 1, nil
	}
	return all[len(all)-1].sequence + 1, nil
}

// leave ends the protection of a lane's segments from Retain.
func (j *Journal) leave(dir string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.running, dir)
	j.held.Delete(dir)
}

func (j *Journal) removeUnfinished() error {
	dirs, err := directories(j.dir)
	for _, dir := range dirs {
		entries, failed := ownEntries(dir)
		err = errors.Join(err, failed)
		for _, entry := range entries {
			name, hidden := strings.CutPrefix(entry.Name(), ".")
			if _, ok := sequenceOf(name); ok && hidden {
				err = errors.Join(err, ignoreMissing(os.Remove(filepath.Join(dir, entry.Name()))))
			}
		}
	}
	return err
}

// builder returns a builder, which the caller must release.
func (j *Journal) builder() *builder {
	if b, ok := j.builders.Get().(*builder); ok {
		return b
	}
	return &builder{zip: j.zip}
}

// release makes a builder available to other writers, unless a large record has enlarged the builder.
func (j *Journal) release(b *builder) {
	if cap(b.block)+cap(b.packed) <= 4*blockSize {
		j.builders.Put(b)
	}
}
