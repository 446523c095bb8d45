package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const tableFrame = `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},` +
	`"columnDefinitions":null,"rows":[{"cells":["p"],"object":{"metadata":{"resourceVersion":"7"}}}]}}`

func TestParseFrame(t *testing.T) {
	for line, want := range map[string]Frame{
		tableFrame: {Type: "ADDED", ResourceVersion: "7", Row: Row{
			Object: []byte(`{"metadata":{"resourceVersion":"7"}}`), Cells: []byte(`["p"]`),
		}},
		` { "object" : {"metadata": {"resourceVersion" : "7"}} , "type":"NEWTYPE" } `: {
			Type: "NEWTYPE", ResourceVersion: "7", Row: Row{Object: []byte(`{"metadata": {"resourceVersion" : "7"}}`)},
		},
		`{"type":"ERROR","object":{"kind":"Status","code":410}}`: {Type: "ERROR", Status: []byte(`{"kind":"Status","code":410}`)},
	} {
		got, err := ParseFrame([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestParseFrameRefuses(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `x`, `[]`, `{"type":"ADDED"}`, `{"object":{}}`, `{"type":"ADDED","object":{}}`, `{"type":"ADDED","object":null}`,
		`{"type":1,"object":{"metadata":{"resourceVersion":"1"}}}`, `{"type":"ADDED","object":{"metadata":{"resourceVersion":1}}}`,
		tableFrame + "x", tableFrame[:len(tableFrame)-1], strings.Replace(tableFrame, `["p"]`, `null`, 1),
		strings.Replace(tableFrame, `"rows":[`, `"rows":[{"cells":[],"object":{}},`, 1), strings.Replace(tableFrame, `"rows"`, `"r"`, 1),
	} {
		var malformed *MalformedError
		if frame, err := ParseFrame([]byte(line)); !errors.As(err, &malformed) {
			t.Errorf("%s: got %+v, %v", line, frame, err)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	f.Add([]byte(tableFrame))
	f.Add([]byte(`{"type":"ERROR","object":{"kind":"Status"}}`))
	f.Add([]byte(`{"type":"DELETED","object":{"kind":"Table","apiVersion":"v1","metadata":{"resourceVersion":"7"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		frame, err := ParseFrame(line)
		if err != nil {
			return
		}
		if !json.Valid(line) || frame.Type == "" {
			t.Errorf("accepted %s as %+v", line, frame)
		}
		if (frame.Type == "ERROR") != (frame.Status != nil) || (frame.Row.Object == nil) != (frame.Status != nil) {
			t.Errorf("got %+v", frame)
		}
	})
}

func TestFrameReader(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	input := "a\n\n \r\n" + long + "\nb\r\n" + long + "y\n"
	for name, source := range map[string]io.Reader{
		"at once": strings.NewReader(input), "by halves": iotest.HalfReader(strings.NewReader(input)),
		"with the end": iotest.DataErrReader(strings.NewReader(input)), "by bytes": iotest.OneByteReader(strings.NewReader(input)),
	} {
		r := NewFrameReader(source, 1<<20)
		for _, want := range []string{"a", long, "b", long + "y"} {
			if got, err := r.Next(); err != nil || string(got) != want {
				t.Errorf("%s: got %d bytes, %v; want %d", name, len(got), err, len(want))
			}
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: the end is %v", name, err)
		}
	}
}

func TestFrameReaderErrors(t *testing.T) {
	if _, err := NewFrameReader(strings.NewReader(`{"type":`), 100).Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a cut frame: %v", err)
	}
	broken := errors.New("broken")
	if _, err := NewFrameReader(io.MultiReader(strings.NewReader("{"), iotest.ErrReader(broken)), 100).Next(); !errors.Is(err, broken) {
		t.Errorf("a broken connection: %v", err)
	}
	for _, size := range []int{1000, 100_000, 500_000} {
		for limit, fits := range map[int]bool{size: true, size - 1: false} {
			line, err := NewFrameReader(strings.NewReader(strings.Repeat("x", size)+"\n"), limit).Next()
			var large *FrameTooLargeError
			if fits && (err != nil || len(line) != size) || !fits && (!errors.As(err, &large) || large.Limit != limit) {
				t.Errorf("%d bytes, limit %d: got %d bytes, %v", size, limit, len(line), err)
			}
		}
	}
	endless := NewFrameReader(iotest.OneByteReader(zeros{}), 1<<17)
	var large *FrameTooLargeError
	if _, err := endless.Next(); !errors.As(err, &large) || cap(endless.long) > 1<<20 {
		t.Errorf("an endless frame: %v, %d bytes held", err, cap(endless.long))
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestBookmarkThatWasNeverSeenAsARow(t *testing.T) {
	item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	shape := &Shape{Columns: make([]Column, 3), RawColumns: []byte(`[{},{},{}]`)}
	framer := NewFramer(shape, FrameOptions{Form: FormTable, Meta: MetaV1, Include: IncludeNone})
	const head = `{"type":"BOOKMARK","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":`
	want := head + `[{},{},{}],"rows":[{"cells":["",null,null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` +
		`"metadata":{"resourceVersion":"7"}}}]}}` + "\n" + head + `null,"rows":[{"cells":["",null,null],"object":null}]}}` + "\n"
	got := framer.AppendBookmark(framer.AppendInitialEnd(nil, item), item)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.HasSuffix(got, []byte("\n")) {
		t.Error("a frame without its newline")
	}
}
