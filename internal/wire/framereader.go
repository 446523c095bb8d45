package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// FrameTooLargeError says that a frame exceeds what the reader was allowed to hold.
type FrameTooLargeError struct{ Limit int }

func (e *FrameTooLargeError) Error() string {
	return fmt.Sprintf("a watch frame exceeds %d bytes", e.Limit)
}

// FrameReader reads frames, which end with a newline, into one buffer that grows to the largest. Used by one goroutine.
type FrameReader struct {
	reader *bufio.Reader
	limit  int
	long   []byte // a frame that did not fit the reader's buffer
}

// NewFrameReader reads frames of at most limit bytes each.
func NewFrameReader(r io.Reader, limit int) *FrameReader {
	return &FrameReader{reader: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Next returns the next frame, valid until the next call; empty lines are skipped. io.EOF is the end between two frames,
// io.ErrUnexpectedEOF one within a frame.
func (f *FrameReader) Next() ([]byte, error) {
	for {
		line, err := f.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) > f.limit {
			return nil, &FrameTooLargeError{Limit: f.limit}
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

func (f *FrameReader) line() ([]byte, error) {
	line, err := f.reader.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	f.long = append(f.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(f.long) > f.limit {
			return nil, &FrameTooLargeError{Limit: f.limit}
		}
		line, err = f.reader.ReadSlice('\n')
		f.long = append(f.long, line...)
	}
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(f.long)) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return f.long, err
}
