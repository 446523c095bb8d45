package auditlog

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// Stdin is the name of the standard input among the names of files.
const Stdin = "-"

// Files are the logs to read, the oldest first.
type Files struct {
	// Size is the sum of the sizes of all files; 0 if it is unknown, because one of them is the standard input or a pipe.
	Size  int64
	stdin io.Reader
	all   []file
	read  atomic.Int64
}

type file struct {
	name    string
	changed time.Time
}

// Find checks that all named files exist. It sorts them by the time of their last change, because watches that began in
// an earlier file end in a later one.
func Find(names []string, stdin io.Reader) (*Files, error) {
	f := &Files{stdin: stdin}
	known := true
	for _, name := range names {
		if name == Stdin {
			f.all, known = append(f.all, file{name: name, changed: time.Now()}), false
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, fmt.Errorf("find audit log: %w", err)
		}
		if info.IsDir() {
			return nil, fmt.Errorf("%s is a directory: name its files, for example %s/audit*.log", name, name)
		}
		known = known && info.Mode().IsRegular()
		f.all, f.Size = append(f.all, file{name: name, changed: info.ModTime()}), f.Size+info.Size()
	}
	if !known {
		f.Size = 0
	}
	slices.SortStableFunc(f.all, func(a, b file) int { return a.changed.Compare(b.changed) })
	return f, nil
}

// Read returns the number of bytes read so far, before decompression. Safe for concurrent use.
func (f *Files) Read() int64 { return f.read.Load() }

// open returns the content of a file. It decompresses a file that begins with gzip's magic number.
func (f *Files) open(name string) (content io.Reader, closing func(), err error) {
	raw, closing := f.stdin, func() {}
	if name != Stdin {
		opened, err := os.Open(name)
		if err != nil {
			return nil, nil, fmt.Errorf("open audit log: %w", err)
		}
		raw, closing = opened, func() { _ = opened.Close() }
	}
	buffered := bufio.NewReaderSize(&counted{raw, &f.read}, 128<<10)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" { // an error appears again at the next read
		return buffered, closing, nil
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		closing()
		return nil, nil, fmt.Errorf("decompress %s: %w", name, err)
	}
	return unzipped, closing, nil
}

type counted struct {
	io.Reader
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
