package wire

import (
	"strings"
	"testing"
)

// Keys are sorted, and values are unchanged, however the document is split into writes.
func TestYAMLWriter(t *testing.T) {
	const document = `{"kind":"List","items":[],"b":{"n":1234567890123456789,"f":0.5,"s":"yes","l":"a\nb\n"},"a":null}` + "\n"
	const want = "a: null\nb:\n  f: 0.5\n  l: |\n    a\n    b\n  \"n\": 1234567890123456789\n  s: \"yes\"\nitems: []\nkind: List\n"
	for _, size := range []int{1, 7, len(document)} {
		var out strings.Builder
		w := NewYAMLWriter(&out)
		for rest := []byte(document); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := w.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		if out.Len() > 0 {
			t.Error("got output before Close")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
	if err := NewYAMLWriter(new(strings.Builder)).Close(); err != nil {
		t.Errorf("empty document: %v", err)
	}
	broken := NewYAMLWriter(new(strings.Builder))
	_, _ = broken.Write([]byte(`{"a":`))
	if err := broken.Close(); err == nil {
		t.Error("got no error for half a document")
	}
}
