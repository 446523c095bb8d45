package upstream

import (
	"bytes"
	"errors"
	"io"
)

// leastRead is how many bytes of a buffer are there at least to read an answer's first ones into.
const leastRead = 64 << 10

// readInto replaces the content of a buffer by all that there is to read, up to limit bytes and one more. Other than
// bytes.Buffer it does not make the buffer larger than that: twice as much as is needed would be more than memory was
// reckoned for.
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
