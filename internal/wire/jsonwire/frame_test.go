package jsonwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/internal/wire/scan"
	"github.com/listfacade/listfacade/internal/wire/table"
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

func TestParseFrameRejectsMalformedFrames(t *testing.T) {
	for _, line := range []string{
		``, `{}`, `x`, `[]`, `{"type":"ADDED"}`, `{"object":{}}`, `{"type":"ADDED","object":{}}`, `{"type":"ADDED","object":null}`,
		`{"type":1,"object":{"metadata":{"resourceVersion":"1"}}}`, `{"type":"ADDED","object":{"metadata":{"resourceVersion":1}}}`,
		tableFrame + "x", tableFrame[:len(tableFrame)-1], strings.Replace(tableFrame, `["p"]`, `null`, 1),
		strings.Replace(tableFrame, `"rows":[`, `"rows":[{"cells":[],"object":{}},`, 1), strings.Replace(tableFrame, `"rows"`, `"r"`, 1),
	} {
		var malformed *scan.MalformedError
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

func TestBookmarkWithoutCellsAsTable(t *testing.T) {
	item, _, err := NewExtractor(nil).Scan(Row{Object: []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	shape := &Shape{columns: make([]table.Column, 3), rawColumns: []byte(`[{},{},{}]`)}
	framer := shape.Framer(wire.Representation{Kind: wire.Row, Meta: wire.MetaV1, Include: wire.IncludeNone})
	const head = `{"type":"BOOKMARK","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":`
	want := head + `[{},{},{}],"rows":[{"cells":["",null,null],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",` +
		`"metadata":{"resourceVersion":"7"}}}]}}` + "\n" + head + `null,"rows":[{"cells":["",null,null],"object":null}]}}` + "\n"
	got := framer.AppendBookmark(framer.AppendInitialEventsEnd(nil, &item), &item)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !bytes.HasSuffix(got, []byte("\n")) {
		t.Error("frame does not end with a newline")
	}
}
