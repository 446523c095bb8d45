package auditlog

import (
	"bytes"
	"errors"
	"io"
)

// When a block has at least blockSize bytes, it ends at its last complete line. longestLine is the maximum size of a
// block, and therefore of a line, in bytes.
const (
	blockSize   = 1 << 20
	longestLine = 4 << 20
)

type block struct {
	file  string
	first int // number of the first line, from 1
	lines []byte
	data  []byte // the buffer that contains lines
}

type cutter struct {
	content io.Reader
	file    string
	rest    []byte // bytes after the last block, from the beginning of a line
	line    int    // number of the line at which rest begins
	ended   error  // error of the last read
	tooLong int    // number of lines that were left out
}

// next fills a block with lines. The last line may lack its newline. A call after the last line returns the error of
// the last read, usually io.EOF.
func (c *cutter) next(b *block) error {
	b.file = c.file
	b.data = append(b.data[:0], c.rest...)
	c.rest = c.rest[:0]
	searched := 0
	for {
		if end := bytes.LastIndexByte(b.data[searched:], '\n'); end >= 0 && (len(b.data) >= blockSize || c.ended != nil) {
			c.cut(b, searched+end+1)
			return nil
		} else if end < 0 {
			searched = len(b.data)
		}
		switch {
		case c.ended != nil && len(b.data) > 0:
			c.cut(b, len(b.data))
			return nil
		case c.ended != nil:
			return c.ended
		case len(b.data) >= longestLine:
			c.leaveOut(b)
			searched = 0
			continue
		}
		c.fill(b)
	}
}

// fill reads once into the free part of the block, which grows if it is full.
func (c *cutter) fill(b *block) {
	if cap(b.data) < blockSize {
		b.data = append(make([]byte, 0, blockSize), b.data...)
	} else if len(b.data) == cap(b.data) {
		b.data = append(make([]byte, 0, min(2*cap(b.data), longestLine)), b.data...)
	}
	n, err := c.content.Read(b.data[len(b.data):cap(b.data)])
	b.data = b.data[:len(b.data)+n]
	c.ended = err
}

// cut ends the block after n bytes. The remaining bytes begin the next block.
func (c *cutter) cut(b *block, n int) {
	c.rest = append(c.rest, b.data[n:]...)
	b.first, b.lines = c.line, b.data[:n]
	c.line += bytes.Count(b.lines, []byte{'\n'})
}

// leaveOut drops a line that is too long. The block contains the beginning of that line.
func (c *cutter) leaveOut(b *block) {
	c.tooLong++
	c.line++
	for c.ended == nil {
		b.data = b.data[:0]
		c.fill(b)
		if end := bytes.IndexByte(b.data, '\n'); end >= 0 {
			b.data = append(b.data[:0], b.data[end+1:]...)
			return
		}
	}
	b.data = b.data[:0]
}

// broke returns the error with which a file ended; nil if the file is complete.
func (c *cutter) broke() error {
	if errors.Is(c.ended, io.EOF) && !errors.Is(c.ended, io.ErrUnexpectedEOF) {
		return nil
	}
	return c.ended
}
