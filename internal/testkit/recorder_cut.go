package testkit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"strings"
)

const mediaTypeProtobuf = "application/vnd.kubernetes.protobuf"

// cutter reads the next frame of a stream. At the end it returns io.EOF, or io.ErrUnexpectedEOF with the part of an
// incomplete frame.
type cutter func(from *bufio.Reader) ([]byte, error)

// cutterFor returns the cutter for the headers of an answer. A websocket has no headers. A refusal in protobuf is one
// frame.
func cutterFor(header http.Header) cutter {
	mediaType := header.Get("Content-Type")
	switch {
	case header == nil:
		return cutEither
	case !strings.HasPrefix(mediaType, mediaTypeProtobuf):
		return cutLine
	case strings.Contains(mediaType, "stream=watch"):
		return cutMessage
	}
	return cutWhole
}

// cutLine returns a frame of JSON without its newline.
func cutLine(from *bufio.Reader) ([]byte, error) {
	line, err := from.ReadBytes('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case len(line) > 0 && errors.Is(err, io.EOF):
		return line, io.ErrUnexpectedEOF // a frame ends with a newline
	}
	return nil, err
}

// cutMessage returns a frame of protobuf without the four bytes of its length.
func cutMessage(from *bufio.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(from, length[:]); err != nil {
		return nil, err
	}
	message := make([]byte, binary.BigEndian.Uint32(length[:]))
	n, err := io.ReadFull(from, message)
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, err // the watch was closed within a frame
	}
	return message[:n], err
}

// cutEither recognizes a protobuf frame by the first byte of its length, which is 0 below 16 MiB.
func cutEither(from *bufio.Reader) ([]byte, error) {
	first, err := from.Peek(1)
	switch {
	case err != nil:
		return nil, err
	case first[0] == 0:
		return cutMessage(from)
	}
	return cutLine(from)
}

func cutWhole(from *bufio.Reader) ([]byte, error) {
	body, err := io.ReadAll(from)
	if err == nil && len(body) == 0 {
		err = io.EOF
	}
	return body, err
}
