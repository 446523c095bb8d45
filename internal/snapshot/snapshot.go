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
	// windowLimit bounds the memory that a file makes its reader take.
	windowLimit = 16 << 20
)

// ErrBroken says that a file is not a whole snapshot of this format.
var ErrBroken = errors.New("the file is no whole snapshot")

// ErrOpen says that others than this process' user may read or write the file.
var ErrOpen = errors.New("the file is another user's, or others than its owner may read or write it")

// Header says what a snapshot is of. All of it has to be what the lane is that takes it.
type Header struct {
	Cluster  string // the UID of the namespace kube-system
	Resource string // group, version and resource
	Encoding string
	Accept   string // how the frames were asked for
	Upstream string // the version of kube-apiserver
	// Definition and Generation are those of a custom resource.
	Definition string
	Generation int64
	// Marked: the upstream was seen to send bookmarks.
	Marked bool
	// Base is the resourceVersion of the content, RV that of the last event behind it, or later.
	Base, RV uint64
	Objects  int // of the content
	Events   int // behind it
	Taken    time.Time
}

// Write writes the snapshot of a name into a directory, which is made where it is missing. The content is what frames
// writes. There is nothing new when it fails, as it does with the context's cause when that ends before all of it is on
// the disk. What is written is brought there on the way, so that the context sees how fast the disk is, and not how
// much memory there is in front of it. A disk that does not come back is waited for.
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

// syncEvery is after how many bytes a file that is written is brought to the disk.
const syncEvery = 32 << 20

// disk is a file that is brought to the disk by Sync.
type disk interface {
	io.Writer
	Sync() error
}

// fill writes a snapshot, and returns when it is on the disk, with the context's cause when that has ended by then.
func fill(ctx context.Context, file disk, h Header, frames func(io.Writer) error) error {
	if err := write(&synced{disk: file}, h, func(to io.Writer) error { return frames(until{ctx, to}) }); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err // the last of it may take longest
	}
	if err := file.Sync(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// synced brings what is written to the disk now and then.
type synced struct {
	disk
	ahead int // bytes that it was not yet brought
}

// Write implements io.Writer.
func (s *synced) Write(p []byte) (int, error) {
	n, err := s.disk.Write(p)
	if s.ahead += n; err == nil && s.ahead >= syncEvery {
		s.ahead = 0
		err = s.Sync()
	}
	return n, err
}

// until is written to until a context ends.
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

// Suffix ends the names of snapshots.
const Suffix = ".snapshot"

// summed counts and digests what is written.
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

// trailer ends a file of which so many bytes were digested.
func trailer(sum hash.Hash, size uint64) []byte {
	length := binary.BigEndian.AppendUint64(nil, size)
	sum.Write(length)
	return sum.Sum(length)
}

// Snapshot is one that is read. It is closed by who has it.
type Snapshot struct {
	Header
	io.Reader // of the frames
	file      *os.File
	unpacking *zstd.Decoder
}

// open opens a file to read it, and waits for nobody who would write it, as a named pipe does.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // an operator has named the directory
}

// Look returns the Header of a file without a look at the rest, so that it costs nothing to refuse a snapshot by what
// it says. Only Open finds that the file is not whole. It fails with an error of the file system's, ErrBroken or
// ErrOpen.
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

// Open opens a snapshot, after a look at all of it: it fails with an error of the file system's, ErrBroken, ErrOpen, or
// the context's cause when that ends before.
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

// sizeOf returns the size of a file that is one, and this process' own.
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

// interruptible is a file that is read until a context ends.
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

// isOwn tells whether a file is this process' user's.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

// decode looks at a whole file, and returns what its frames are read from.
func decode(file io.ReaderAt, size int64) (h Header, frames *zstd.Decoder, err error) {
	content := size - trailerSize
	if content < begin {
		return h, nil, fmt.Errorf("%w: it has %d bytes", ErrBroken, size)
	}
	sum, end := sha256.New(), make([]byte, trailerSize)
	if _, err := io.Copy(sum, io.NewSectionReader(file, 0, content+8)); err != nil {
		return h, nil, err
	}
	if _, err := file.ReadAt(end, content); err != nil {
		return h, nil, err
	}
	if binary.BigEndian.Uint64(end) != uint64(content) || string(sum.Sum(nil)) != string(end[8:]) { //nolint:gosec // never below 0
		return h, nil, fmt.Errorf("%w: its length or its checksum is another", ErrBroken)
	}
	h, behind, err := readHeader(file, content)
	if err != nil {
		return h, nil, err
	}
	frames, err = zstd.NewReader(io.NewSectionReader(file, behind, content-behind),
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowLimit))
	return h, frames, err
}

// begin is where the header's JSON begins.
const begin = int64(len(magic) + 4)

// readHeader reads the header of a file with so many bytes before its trailer, and returns where the frames begin.
func readHeader(file io.ReaderAt, content int64) (h Header, behind int64, err error) {
	if content < begin {
		return h, 0, fmt.Errorf("%w: it has %d bytes before its trailer", ErrBroken, content)
	}
	head := make([]byte, begin)
	if _, err := file.ReadAt(head, 0); err != nil {
		return h, 0, err
	}
	length := int64(binary.BigEndian.Uint32(head[len(magic):]))
	if string(head[:len(magic)]) != magic || length > headerLimit || begin+length > content {
		return h, 0, fmt.Errorf("%w: it is of another format", ErrBroken)
	}
	if err := json.NewDecoder(io.NewSectionReader(file, begin, length)).Decode(&h); err != nil {
		return h, 0, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	return h, begin + length, nil
}
