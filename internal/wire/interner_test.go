package wire

import (
	"bytes"
	"fmt"
	"testing"
)

func TestInternerIsBounded(t *testing.T) {
	n := NewInterner()
	first := n.Share([]byte("first"))
	for i := range maxInterned + 10 {
		n.Share(fmt.Append(nil, i))
	}
	n.Share(bytes.Repeat([]byte("x"), maxInternedLen+1))
	if len(n.known) != 11 {
		t.Errorf("%d texts are known, want the 11 since it was cleared", len(n.known))
	}
	if first != "first" {
		t.Errorf("a text in use became %q", first)
	}
}
