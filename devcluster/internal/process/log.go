package process

import (
	"bytes"
	"errors"
	"io"
	"os"
)

// Limits of the part of a log in an error message.
const (
	tailLines = 25
	tailBytes = 16 << 10
)

// tail returns the last lines of a log for an error message. If the log cannot be read, it returns the error text.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = file.Close() }() // opened for reading only
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err.Error()
	}
	data := make([]byte, min(size, tailBytes))
	if _, err := file.ReadAt(data, size-int64(len(data))); err != nil && !errors.Is(err, io.EOF) {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-tailLines):], []byte("\n")))
}
