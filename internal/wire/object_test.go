package wire_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire"
)

// A small object is not copied into a buffer before it is written.
func TestSmallObjectsAreNotBuffered(t *testing.T) {
	it := itemOf(t, strings.Repeat("x", 15<<10))
	write := func(w io.Writer, accept string) {
		body := wire.NewBody(w, wire.BodyOptions{AcceptEncoding: accept, Announce: func() { t.Error("compression was announced") }})
		if err := body.WriteObject(builtin, wire.Representation{}, &it); err != nil {
			t.Error(err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	var plain, accepting bytes.Buffer
	write(&plain, "identity")
	write(&accepting, "gzip")
	if !bytes.Equal(plain.Bytes(), accepting.Bytes()) || plain.Len() == 0 {
		t.Errorf("got %d bytes with gzip, want %d", accepting.Len(), plain.Len())
	}
	allocations := func(accept string) float64 {
		return testing.AllocsPerRun(100, func() { write(io.Discard, accept) })
	}
	if plain, accepting := allocations("identity"), allocations("gzip"); accepting > plain {
		t.Errorf("got %v allocations for a client that accepts gzip, want %v", accepting, plain)
	}
}
