package snapshot

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	magic       = "listfacade snapshot 1\n"
	headerLimit = 64 << 10
	trailerSize = 8 + sha256.Size
	// windowLimit bounds the memory, in bytes, that the zstd decoder allocates for its window.
	windowLimit = 16 << 20
)

// ErrBroken is returned when a file is not a complete snapshot of this format.
var ErrBroken = errors.New("snapshot is incomplete or damaged")

// ErrOpen is returned when a file belongs to another user, or when users other than its owner may read or write it.
var ErrOpen = errors.New("snapshot belongs to another user, or users other than its owner may read or write it")

// Header describes a snapshot. A lane is restored from a snapshot only if the lane's properties match the header.
type Header struct {
	Cluster  string // UID of the namespace kube-system
	Resource string // group, version and resource
	Encoding string
	Accept   string // Accept header with which the frames were requested
	Upstream string // version of kube-apiserver
	// Definition and Generation are the UID and generation of the definition of a custom resource.
	Definition string
	Generation int64
	// Marked is set if the upstream sent bookmarks.
	Marked bool
	// Base is the resourceVersion of the list of objects. RV is the resourceVersion of the last event after them, or a
	// higher one.
	Base, RV uint64
	Objects  int // number of objects at Base
	Events   int // number of events after Base
	Taken    time.Time
}

// Write writes a snapshot under a name into a directory, and creates the directory if it is missing. The callback
// writes the frames. If Write fails, the old file remains and no new one exists. It returns the context's cause if the
// context ends before everything is on the disk. Write syncs the file regularly. Without that, most of the time would
// be spent in the last sync, after the deadline was last checked. A sync that hangs is not interrupted.
func Write(ctx context.Context, dir, name string, h Header, frames func(io.Writer) error) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "."+name+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if err := fill(ctx, file, h, frames); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), filepath.Join(dir, name))
}

// syncEvery is the number of bytes after which a file is synced to the disk.
const syncEvery = 32 << 20

// disk is a file that can be synced to the disk.
type disk interface {
	io.Writer
	Sync() error
}

// fill writes a snapshot and returns when it is on the disk. It returns the context's cause if the context has ended by
// then.
func fill(ctx context.Context, file disk, h Header, frames func(io.Writer) error) error {
	if err := write(&synced{disk: file}, h, func(to io.Writer) error { return frames(until{ctx, to}) }); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err // checked again, because the last sync may take longest
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// synced is a writer that syncs its file after every syncEvery bytes.
type synced struct {
	disk
	unsynced int // bytes written since the last sync
}

// Write implements io.Writer.
func (s *synced) Write(p []byte) (int, error) {
	n, err := s.disk.Write(p)
	if s.unsynced += n; err == nil && s.unsynced >= syncEvery {
		s.unsynced = 0
		err = s.Sync()
	}
	return n, err
}

// until is a writer that fails when its context ends.
type until struct {
	ctx context.Context
	to  io.Writer
}

// Write implements io.Writer.
func (u until) Write(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.to.Write(p)
}

// Suffix is the suffix of the names of snapshots.
const Suffix = ".snapshot"

// summed is a writer that counts and hashes the bytes written.
type summed struct {
	to   io.Writer
	sum  hash.Hash
	size uint64
}

// Write implements io.Writer.
func (s *summed) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.sum.Write(p[:n])
	s.size += uint64(n) //nolint:gosec // never below 0
	return n, err
}

func write(to io.Writer, h Header, frames func(io.Writer) error) error {
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	s := &summed{to: to, sum: sha256.New()}
	head := binary.BigEndian.AppendUint32([]byte(magic), uint32(len(text))) //nolint:gosec // some hundred bytes
	if _, err := s.Write(append(head, text...)); err != nil {
		return err
	}
	packed, err := zstd.NewWriter(s, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if err := errors.Join(frames(packed), packed.Close()); err != nil {
		return err
	}
	_, err = to.Write(trailer(s.sum, s.size))
	return err
}

// trailer returns the end of a file: its size and the checksum. sum has hashed the first size bytes.
func trailer(sum hash.Hash, size uint64) []byte {
	length := binary.BigEndian.AppendUint64(nil, size)
	sum.Write(length)
	return sum.Sum(length)
}

// Snapshot is an open snapshot. The caller closes it.
type Snapshot struct {
	Header
	io.Reader // the frames
	file      *os.File
	unpacking *zstd.Decoder
}

// open opens a file for reading. It does not block on a named pipe without a writer.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // the operator chose the directory
}

// Look returns the Header of a file without reading the rest. The caller can then refuse a snapshot of another lane at
// little cost. Only Open detects damage. It returns an error of the file system, ErrBroken or ErrOpen.
func Look(path string) (Header, error) {
	file, err := open(path)
	if err != nil {
		return Header{}, err
	}
	defer func() { _ = file.Close() }()
	size, err := sizeOf(file)
	if err != nil {
		return Header{}, err
	}
	h, _, err := readHeader(file, size-trailerSize)
	return h, err
}

// Open opens a snapshot after it has verified the complete file. It returns an error of the file system, ErrBroken,
// ErrOpen, or the context's cause if the context ends first.
func Open(ctx context.Context, path string) (*Snapshot, error) {
	file, err := open(path)
	if err != nil {
		return nil, err
	}
	s, err := read(ctx, file)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return s, nil
}

// Close implements io.Closer.
func (s *Snapshot) Close() error {
	s.unpacking.Close()
	return s.file.Close()
}

// sizeOf returns the size of a file in bytes. It returns an error unless the file is a regular file that only this
// process's user may access.
func sizeOf(file *os.File) (int64, error) {
	info, err := file.Stat()
	switch {
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, ErrBroken
	case info.Mode().Perm()&0o077 != 0, !isOwn(info):
		return 0, ErrOpen
	}
	return info.Size(), nil
}

func read(ctx context.Context, file *os.File) (*Snapshot, error) {
	size, err := sizeOf(file)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{file: file}
	s.Header, s.unpacking, err = decode(interruptible{ctx, file}, size)
	if err == nil {
		s.Reader = s.unpacking.IOReadCloser()
	}
	return s, err
}

// interruptible is a file that can be read until its context ends.
type interruptible struct {
	ctx  context.Context
	file *os.File
}

// ReadAt implements io.ReaderAt.
func (i interruptible) ReadAt(p []byte, at int64) (int, error) {
	if err := context.Cause(i.ctx); err != nil {
		return 0, err
	}
	return i.file.ReadAt(p, at)
}

// isOwn reports whether a file belongs to this process's user.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// decode verifies a complete file, and returns its header and the decoder of its frames.
func decode(file io.ReaderAt, size int64) (h Header, frames *zstd.Decoder, err error) {
	content := size - trailerSize
	if content < headerAt {
		return h, nil, fmt.Errorf("%w: size is only %d bytes", ErrBroken, size)
	}
	sum, end := sha256.New(), make([]byte, trailerSize)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, content+8)); err != nil {
		return h, nil, err
	}
	if _, err := file.ReadAt(end, content); err != nil {
		return h, nil, err
	}
	if binary.BigEndian.Uint64(end) != uint64(content) || string(sum.Sum(nil)) != string(end[8:]) { // never below 0
		return h, nil, fmt.Errorf("%w: length or checksum does not match", ErrBroken)
	}
	h, framesAt, err := readHeader(file, content)
	if err != nil {
		return h, nil, err
	}
	frames, err = zstd.NewReader(io.NewSectionReader(file, framesAt, content-framesAt),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowLimit))
	return h, frames, err
}

// headerAt is the offset of the header's JSON.
const headerAt = int64(len(magic) + 4)

// readHeader returns the header of a file and the offset of its frames. content is the number of bytes before the
// trailer.
func readHeader(file io.ReaderAt, content int64) (h Header, framesAt int64, err error) {
	if content < headerAt {
		return h, 0, fmt.Errorf("%w: only %d bytes precede the trailer", ErrBroken, content)
	}
	head := make([]byte, headerAt)
	if _, err := file.ReadAt(head, 0); err != nil {
		return h, 0, err
	}
	length := int64(binary.BigEndian.Uint32(head[len(magic):]))
	if string(head[:len(magic)]) != magic || length > headerLimit || headerAt+length > content {
		return h, 0, fmt.Errorf("%w: unknown format", ErrBroken)
	}
	if err := json.NewDecoder(io.NewSectionReader(file, headerAt, length)).Decode(&h); err != nil {
		return h, 0, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return h, headerAt + length, nil
}
