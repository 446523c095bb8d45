package scan

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scanned returns an error unless the scanner accepts data as one value.
func scanned(data []byte) error {
	s := Scanner{Data: data}
	if _, err := s.Skip(); err != nil {
		return err
	}
	return s.End()
}

var texts = []string{
	`{}`, `[]`, `null`, `true`, `-0.5e+3`, `"a\u00e9\"\\"`, ` { "a" : [ 1 , { } ] } `, `{"a":{"b":[1,"}",null]},"c":"]"}`,
	``, `{`, `[`, `"`, `"\`, `"\u12`, `"\u12g4"`, `"\q"`, "\"\n\"", "\"12345678\x01\"", `01`, `1.`, `-`, `1e`, `+1`, `tru`, `nulll`,
	`{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `[1,]`, `[,1]`, `[1 2]`, `{"a" 1}`, `[}`, `{]`, `[[]`, `1 2`, `{}}`, "\x00", "[1]\x00", `[1}`,
	`{"a":[{"b":1}]`, `"1234567"`, `"12345678"`, `"123456789\n"`, `"é漢字"`, "\"\xff\"", `[[[[1]]],[{"x":[]}]]`,
}

func TestScannerAcceptsTheSameAsEncodingJSON(t *testing.T) {
	for _, text := range texts {
		if err := scanned([]byte(text)); (err == nil) != json.Valid([]byte(text)) {
			t.Errorf("%q: got %v, want valid=%v", text, err, json.Valid([]byte(text)))
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := scanned(data); (err == nil) != json.Valid(data) {
			t.Errorf("got %v, want valid=%v", err, json.Valid(data))
		}
	})
}

func TestScannerBoundsDepth(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat(`[{"a":`, n/2) + "1" + strings.Repeat("}]", n/2)) }
	for _, n := range []int{62, 64, 66, 128, 1000, 10_000, maxDepth} {
		if err := scanned(deep(n)); err != nil {
			t.Errorf("depth %d: %v", n, err)
		}
	}
	var malformed *MalformedError
	if err := scanned(deep(maxDepth + 2)); !errors.As(err, &malformed) || !strings.Contains(malformed.Reason, "nested deeper") {
		t.Errorf("depth %d: %v", maxDepth+2, err)
	}
	wrong := deep(1000)
	wrong[len(wrong)-700] ^= ']' ^ '}'
	if err := scanned(wrong); err == nil {
		t.Error("got no error for a mismatched bracket at depth 300")
	}
}

func TestMalformedErrorContainsOffset(t *testing.T) {
	var malformed *MalformedError
	if err := scanned([]byte(`{"a":[1,2}`)); !errors.As(err, &malformed) || malformed.Offset != 9 {
		t.Errorf("got %v, want offset 9", err)
	}
	if got, want := malformed.Error(), `malformed JSON at byte 9: expected ',' or ']'`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	unknown := &MalformedError{Reason: "object without metadata.resourceVersion"}
	if got, want := unknown.Error(), "malformed JSON: object without metadata.resourceVersion"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLookup(t *testing.T) {
	const object = `{"a":{"b":[{"c":1},{"c":"x\"}"}],"d.e":true,"\u0066":7},"n":null}`
	for path, want := range map[string]string{
		"a.b.1.c": `"x\"}"`, "a.b.0": `{"c":1}`, "a.f": "7", "n": "null", "a.b": `[{"c":1},{"c":"x\"}"}]`,
	} {
		if got, ok := Lookup([]byte(object), path); !ok || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "x", "a.b.2", "a.b.-1", "a.b.c", "a.d.e", "n.x", "a.b.0.c.x"} {
		if got, ok := Lookup([]byte(object), path); ok {
			t.Errorf("%s: got %q, want none", path, got)
		}
	}
	if got, ok := Lookup([]byte(`{"a":[1,`), "b"); ok {
		t.Errorf("malformed: got %q, want none", got)
	}
}

func TestStringsAreUnescapedLikeEncodingJSON(t *testing.T) {
	for _, quoted := range []string{`"plain"`, `"a\u003cb\u003e\n\t\\\"\/"`, `"\ud83d\ude00 \ud800 é"`, `""`} {
		var want string
		if err := json.Unmarshal([]byte(quoted), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, Unquote([]byte(quoted[1:len(quoted)-1]))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", quoted, diff)
		}
	}
}
