package upstream

import (
	"bytes"
	"errors"
	"io"
)

const leastRead = 64 << 10 // minimum capacity of a buffer, in bytes

// readInto replaces the content of a buffer by up to limit+1 bytes of a reader. Unlike bytes.Buffer, it does not
// allocate more than limit+1 bytes, so that the memory stays within the reservation for the response.
func readInto(into *bytes.Buffer, from io.Reader, limit int64) error {
	into.Reset()
	data := into.AvailableBuffer()
	for {
		if len(data) == cap(data) {
			if int64(len(data)) > limit {
				break
			}
			grown := make([]byte, len(data), min(int64(max(2*cap(data), leastRead)), limit+1))
			copy(grown, data)
			data = grown
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	*into = *bytes.NewBuffer(data)
	return nil
}
