package wire

import (
	"strings"
	"testing"
)

// The document's keys are sorted, its numbers and its text stay what they are, however it is cut into writes.
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
			t.Error("something was written before the end")
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if out.String() != want {
			t.Errorf("got\n%s\nwant\n%s", out.String(), want)
		}
	}
	if err := NewYAMLWriter(new(strings.Builder)).Close(); err != nil {
		t.Errorf("nothing at all: %v", err)
	}
	broken := NewYAMLWriter(new(strings.Builder))
	_, _ = broken.Write([]byte(`{"a":`))
	if err := broken.Close(); err == nil {
		t.Error("half a document is converted")
	}
}
