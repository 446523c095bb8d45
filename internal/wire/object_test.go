package wire_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/listfacade/listfacade/internal/wire"
)

// An object that is too small to be compressed is not copied to find that out.
func TestSmallObjectsAreNotHeldBack(t *testing.T) {
	it := itemOf(t, strings.Repeat("x", 15<<10))
	write := func(w io.Writer, accept string) {
		body := wire.NewBody(w, wire.BodyOptions{AcceptEncoding: accept, Announce: func() { t.Error("compressed") }})
		if err := body.WriteObject(builtin, wire.Representation{}, &it); err != nil {
			t.Error(err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
	var plain, asked bytes.Buffer
	write(&plain, "identity")
	write(&asked, "gzip")
	if !bytes.Equal(plain.Bytes(), asked.Bytes()) || plain.Len() == 0 {
		t.Errorf("%d bytes and %d", plain.Len(), asked.Len())
	}
	allocations := func(accept string) float64 {
		return testing.AllocsPerRun(100, func() { write(io.Discard, accept) })
	}
	if plain, asked := allocations("identity"), allocations("gzip"); asked > plain {
		t.Errorf("%v allocations for a client that takes gzip, %v for another", asked, plain)
	}
}
