package testkit

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var (
	anyRV = regexp.MustCompile(`"resourceVersion":"\d+"`)
	// youngAge is the age of an object that a test has just made: the second may turn between two renderings.
	youngAge = regexp.MustCompile(`"\d{1,2}s"`)
	// columnsAgain: kube-apiserver repeats the columns of a Table in a watch when the event before was encoded for another
	// watch too; alone, it sends them once.
	columnsAgain = regexp.MustCompile(`"columnDefinitions":\[.*?\],"rows":`)
)

// maskFrame hides from a frame what two good servers tell differently: the version of a bookmark, which is that of the cache
// that sends it, seconds of age in a Table, and what docs/divergences.md says of errors.
func maskFrame(f Frame) []byte {
	line := f.Line
	switch e, err := f.Event(); {
	case err != nil:
		return line
	case e.Type == Bookmark:
		line = anyRV.ReplaceAll(line, []byte(`"resourceVersion":"N"`))
	case e.Type == "ERROR":
		return maskBody(line)
	}
	if bytes.Contains(line, []byte(`"kind":"Table"`)) {
		line = youngAge.ReplaceAll(line, []byte(`"Ns"`))
	}
	return line
}

// Through is the recording up to a resourceVersion, without the bookmarks that a timer sends: what the same watch on two
// servers must agree on.
func (r *Recording) Through(rv uint64) *Recording {
	cut := *r
	cut.Frames = nil
	for _, frame := range r.Frames {
		e, err := frame.Event()
		timed := e.Type == Bookmark && !e.InitialEnd
		live := e.Type != Bookmark && e.RV > rv
		if err == nil && (timed || live) {
			continue
		}
		cut.Frames = append(cut.Frames, frame)
	}
	return &cut
}

// DiffRecordings compares two recordings frame by frame and byte by byte, after masking; it is empty when they are the same.
func DiffRecordings(want, got *Recording) string {
	var b strings.Builder
	if want.Code != got.Code {
		fmt.Fprintf(&b, "code: upstream %d, facade %d\n", want.Code, got.Code)
	}
	if diff := cmp.Diff(maskHeader(want.Header), maskHeader(got.Header)); diff != "" {
		fmt.Fprintf(&b, "header (-upstream +facade):\n%s", diff)
	}
	for i := 0; i < min(len(want.Frames), len(got.Frames)); i++ {
		w, g := maskFrame(want.Frames[i]), maskFrame(got.Frames[i])
		if i > 0 {
			w = columnsAgain.ReplaceAll(w, []byte(`"columnDefinitions":null,"rows":`))
		}
		if !bytes.Equal(w, g) {
			fmt.Fprintf(&b, "frame %d:\n%s", i, around(w, g))
			break
		}
	}
	if len(want.Frames) != len(got.Frames) {
		fmt.Fprintf(&b, "upstream: %s\nfacade: %s\n", want, got)
	}
	return b.String()
}
