package upstream

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// readInto reads everything, reuses the buffer, and never grows it beyond the limit and one byte.
func TestReadInto(t *testing.T) {
	const limit = 1 << 20
	text := bytes.Repeat([]byte("0123456789abcdef"), limit/16)
	var into bytes.Buffer
	for _, n := range []int{0, 1, leastRead - 1, leastRead, leastRead + 1, 700 << 10, limit - 1, limit, 3} {
		for _, from := range []io.Reader{bytes.NewReader(text[:n]), iotest.HalfReader(iotest.DataErrReader(bytes.NewReader(text[:n])))} {
			if err := readInto(&into, from, limit); err != nil || !bytes.Equal(into.Bytes(), text[:n]) {
				t.Errorf("read of %d bytes: got %d, %v", n, into.Len(), err)
			}
		}
	}
	if into.Cap() > limit+1 {
		t.Errorf("got a buffer of %d bytes", into.Cap())
	}
	if err := readInto(&into, io.MultiReader(bytes.NewReader(text), bytes.NewReader(text)), limit); err != nil || into.Len() != limit+1 || into.Cap() > limit+1 {
		t.Errorf("over the limit: got %d bytes in a buffer of %d, %v", into.Len(), into.Cap(), err)
	}
	fault := errors.New("the connection broke")
	if err := readInto(&into, io.MultiReader(bytes.NewReader(text[:9]), iotest.ErrReader(fault)), limit); !errors.Is(err, fault) {
		t.Errorf("got %v for a truncated body", err)
	}
}
