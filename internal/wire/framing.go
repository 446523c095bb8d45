package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
)

// FrameLimit bounds one watch frame in bytes: an object is at most 1.5 MB in etcd, its JSON a few times that, and it
// may come with its managed fields and a Table around it.
const FrameLimit = 64 << 20

// FrameTooLargeError says that a frame exceeds what the reader was allowed to hold.
type FrameTooLargeError struct{ Limit int }

func (e *FrameTooLargeError) Error() string {
	return fmt.Sprintf("a watch frame exceeds %d bytes", e.Limit)
}

// Framing is how the frames of a watch stand one behind the other, and what they are as messages of a websocket: a
// string is sent as text, bytes as they are (semantics 4.6, 4.7).
type Framing interface {
	// Reader reads the frames of a stream, of at most limit bytes each.
	Reader(stream io.Reader, limit int) FrameReader
	// Message is a frame that a Reader returned as a message, which does not alias it.
	Message(frame []byte) any
	// Messages are whole frames that stand one behind the other, each as a message.
	Messages(frames []byte) iter.Seq[any]
}

// FrameReader reads frames. Used by one goroutine.
type FrameReader interface {
	// Next returns the next frame, valid until the next call. io.EOF is the end between two frames, io.ErrUnexpectedEOF
	// one within a frame, *FrameTooLargeError a frame beyond the limit.
	Next() ([]byte, error)
}

// Lines is the framing of JSON: each frame ends with a newline. Empty lines are skipped.
type Lines struct{}

// Reader implements Framing. Its frames come without their newlines, in one buffer that grows to the largest.
func (Lines) Reader(stream io.Reader, limit int) FrameReader {
	return &lineReader{reader: bufio.NewReaderSize(stream, 64<<10), limit: limit}
}

// Message implements Framing: text, with its newline.
func (Lines) Message(frame []byte) any { return string(frame) + "\n" }

// Messages implements Framing.
func (Lines) Messages(frames []byte) iter.Seq[any] {
	return func(yield func(any) bool) {
		for line := range bytes.Lines(frames) {
			if !yield(string(line)) {
				return
			}
		}
	}
}

type lineReader struct {
	reader *bufio.Reader
	limit  int
	long   []byte // a frame that did not fit the reader's buffer
}

// Next implements FrameReader.
func (l *lineReader) Next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) > l.limit {
			return nil, &FrameTooLargeError{Limit: l.limit}
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

func (l *lineReader) line() ([]byte, error) {
	line, err := l.reader.ReadSlice('\n')
	if err == nil {
		return line, nil
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(l.long) > l.limit {
			return nil, &FrameTooLargeError{Limit: l.limit}
		}
		line, err = l.reader.ReadSlice('\n')
		l.long = append(l.long, line...)
	}
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(l.long)) > 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return l.long, err
}

// Prefixed is the framing of protobuf: four bytes before each frame say how long it is, the highest first.
type Prefixed struct{}

// Reader implements Framing. Its frames come without their prefixes, in one buffer that grows to the largest.
func (Prefixed) Reader(stream io.Reader, limit int) FrameReader {
	return &prefixReader{reader: bufio.NewReader(stream), limit: limit}
}

// Message implements Framing: bytes, without the prefix.
func (Prefixed) Message(frame []byte) any { return bytes.Clone(frame) }

// Messages implements Framing.
func (Prefixed) Messages(frames []byte) iter.Seq[any] {
	return func(yield func(any) bool) {
		for len(frames) > 0 {
			end := 4 + int(binary.BigEndian.Uint32(frames))
			if !yield(bytes.Clone(frames[4:end])) {
				return
			}
			frames = frames[end:]
		}
	}
}

type prefixReader struct {
	reader *bufio.Reader
	limit  int
	frame  bytes.Buffer // grows with what comes, not with what a prefix promises
}

// Next implements FrameReader.
func (p *prefixReader) Next() ([]byte, error) {
	var length uint32
	if err := binary.Read(p.reader, binary.BigEndian, &length); err != nil {
		return nil, err
	}
	if uint64(length) > uint64(p.limit) {
		return nil, &FrameTooLargeError{Limit: p.limit}
	}
	p.frame.Reset()
	_, err := io.CopyN(&p.frame, p.reader, int64(length))
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return p.frame.Bytes(), err
}
