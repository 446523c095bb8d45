package upstream

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// TestReadInto: all of it is there, the buffer is used again, and never larger than the limit and one byte.
func TestReadInto(t *testing.T) {
	const limit = 1 << 20
	text := bytes.Repeat([]byte("0123456789abcdef"), limit/16)
	var into bytes.Buffer
	for _, n := range []int{0, 1, leastRead - 1, leastRead, leastRead + 1, 700 << 10, limit - 1, limit, 3} {
		for _, from := range []io.Reader{bytes.NewReader(text[:n]), iotest.HalfReader(iotest.DataErrReader(bytes.NewReader(text[:n])))} {
			if err := readInto(&into, from, limit); err != nil || !bytes.Equal(into.Bytes(), text[:n]) {
				t.Errorf("of %d bytes %d were read: %v", n, into.Len(), err)
			}
		}
	}
	if into.Cap() > limit+1 {
		t.Errorf("the buffer has %d bytes", into.Cap())
	}
	if err := readInto(&into, io.MultiReader(bytes.NewReader(text), bytes.NewReader(text)), limit); err != nil || into.Len() != limit+1 || into.Cap() > limit+1 {
		t.Errorf("of more than the limit %d bytes were read into %d: %v", into.Len(), into.Cap(), err)
	}
	fault := errors.New("the connection broke")
	if err := readInto(&into, io.MultiReader(bytes.NewReader(text[:9]), iotest.ErrReader(fault)), limit); !errors.Is(err, fault) {
		t.Errorf("what broke off gives %v", err)
	}
}
