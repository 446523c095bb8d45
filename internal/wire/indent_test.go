package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indented writes text in pieces of the given size.
func indented(t *testing.T, text []byte, size int) string {
	t.Helper()
	var b bytes.Buffer
	n := NewIndenter(&b)
	for len(text) > 0 {
		piece := text[:min(size, len(text))]
		if wrote, err := n.Write(piece); err != nil || wrote != len(piece) {
			t.Fatalf("wrote %d of %d: %v", wrote, len(piece), err)
		}
		text = text[len(piece):]
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func FuzzIndenter(f *testing.F) {
	f.Add([]byte(`{"a":[],"b":{},"c":[1,"x\"{,:}\\",{"d":null}],"e":[[]],"f":"\\"}`+"\n"), 1)
	f.Add([]byte(` [ { } , [ ] , "a b" ] `), 2)
	f.Add([]byte(`"\\\""`), 3)
	f.Add([]byte(`7`), 100)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		got := indented(t, text, max(size, 1)) // must not panic for any input
		if !json.Valid(text) {
			return
		}
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSpace(text), "", "  "); err != nil {
			t.Skip(err) // deeper than encoding/json allows
		}
		if diff := cmp.Diff(want.String(), got); diff != "" {
			t.Errorf("(-encoding/json +got):\n%s", diff)
		}
	})
}

func TestIndenterSendsLargePieces(t *testing.T) {
	var writes sizes
	n := NewIndenter(&writes)
	for range 100 {
		if _, err := n.Write([]byte(`["` + strings.Repeat("x", 10_000) + `"]`)); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for _, size := range writes[:len(writes)-1] {
		if size < pieceSize {
			t.Errorf("got a write of %d bytes before the end, want at least %d", size, pieceSize)
		}
	}
}

// sizes records the size of each write.
type sizes []int

func (s *sizes) Write(p []byte) (int, error) { *s = append(*s, len(p)); return len(p), nil }
