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

// FrameLimit is the maximum size of one watch frame in bytes. By default, an object has at most 1.5 MiB in etcd. In
// JSON it can be several times larger, and a Table adds columns and cells.
const FrameLimit = 64 << 20

// FrameTooLargeError is returned when a frame is longer than the reader's limit in bytes.
type FrameTooLargeError struct{ Limit int }

func (e *FrameTooLargeError) Error() string {
	return fmt.Sprintf("watch frame exceeds %d bytes", e.Limit)
}

// Framing defines how the frames of a watch are delimited, and how they are sent as websocket messages. The facade
// sends a string as a text message, and bytes as a binary message (semantics 4.6, 4.7).
type Framing interface {
	// Reader returns a reader of the frames of a stream. Each frame has at most limit bytes.
	Reader(stream io.Reader, limit int) FrameReader
	// Message returns the websocket message for a frame from a FrameReader. The message does not alias the frame.
	Message(frame []byte) any
	// Messages returns one websocket message for each of the concatenated frames.
	Messages(frames []byte) iter.Seq[any]
}

// FrameReader reads frames. Used by one goroutine.
type FrameReader interface {
	// Next returns the next frame, which is valid until the next call. It returns io.EOF at the end of the stream,
	// io.ErrUnexpectedEOF when the stream ends inside a frame, and *FrameTooLargeError when the frame is too long.
	Next() ([]byte, error)
}

// Lines is the framing of JSON: each frame ends with a newline. Its readers skip empty lines.
type Lines struct{}

// Reader implements Framing. Its frames do not include the newline.
func (Lines) Reader(stream io.Reader, limit int) FrameReader {
	return &lineReader{reader: bufio.NewReaderSize(stream, 64<<10), limit: limit}
}

// Message implements Framing. It returns text that ends with a newline.
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
	long   []byte // frame that is longer than the reader's buffer
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

// Prefixed is the framing of protobuf: a length of four bytes, big-endian, precedes each frame.
type Prefixed struct{}

// prefixReadBytes is the size in bytes of a prefixReader's buffer. The reader copies larger frames. An event of a pod
// has about 11 kB and fits. Each read of 4 kB or more makes HTTP/2 send two WINDOW_UPDATE frames. With bufio's default
// buffer of 4 kB, such an event takes two reads.
const prefixReadBytes = 16 << 10

// Reader implements Framing. Its frames do not include the prefix.
func (Prefixed) Reader(stream io.Reader, limit int) FrameReader {
	return &prefixReader{reader: bufio.NewReaderSize(stream, prefixReadBytes), limit: limit}
}

// Message implements Framing. It returns the bytes without the prefix.
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
	last   int          // length of the last frame, if it is in the reader's buffer
	long   bytes.Buffer // frame longer than the reader's buffer; grows with received data, not with the announced length
}

// Next implements FrameReader.
func (p *prefixReader) Next() ([]byte, error) {
	_, _ = p.reader.Discard(p.last) // cannot fail: these bytes are in the buffer
	p.last = 0
	prefix, err := p.reader.Peek(4)
	if err != nil {
		return nil, inFrame(err, len(prefix))
	}
	announced := binary.BigEndian.Uint32(prefix)
	if uint64(announced) > uint64(p.limit) {
		return nil, &FrameTooLargeError{Limit: p.limit}
	}
	length := int(announced)
	_, _ = p.reader.Discard(len(prefix))
	if length <= p.reader.Size() {
		frame, err := p.reader.Peek(length)
		p.last = len(frame)
		return frame, inFrame(err, length)
	}
	p.long.Reset()
	_, err = io.CopyN(&p.long, p.reader, int64(length))
	return p.long.Bytes(), inFrame(err, length)
}

// inFrame returns the error of a stream: io.ErrUnexpectedEOF if the stream ends after some bytes of a frame.
func inFrame(err error, bytes int) error {
	if bytes > 0 && errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
