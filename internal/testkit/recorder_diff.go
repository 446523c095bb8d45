package testkit

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

var (
	anyRV = regexp.MustCompile(`"resourceVersion":"\d+"`)
	// youngAge matches the age of a new object. It may change by a second between two renderings.
	youngAge = regexp.MustCompile(`"(?:\d{1,3}s|[2-9]m(?:\d{1,2}s)?)"`)
	// columnsAgain matches repeated columns in a watch of Tables. kube-apiserver repeats them if the previous event
	// was also encoded for another watch. Otherwise it sends them once.
	columnsAgain = regexp.MustCompile(`"columnDefinitions":\[.*?\],"rows":`)
)

// maskFrame masks the parts of a frame that correct servers send differently: the version of a bookmark, seconds of
// ages in a Table, and the parts of errors that docs/divergences.md lists.
func maskFrame(f Frame) []byte {
	line := f.Line
	switch e, err := f.Event(); {
	case err != nil:
		return line
	case e.Type == Bookmark && isProtobufFrame(line):
		mark := func(envelope []byte) []byte {
			return inside(envelope, objectRV, func([]byte) []byte { return []byte("N") })
		}
		return rewritten(line, inFrame, mark)
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

// Through returns the recording up to a resourceVersion, without periodic bookmarks. Both servers must send this part
// equally. If the first frame of a Table watch is a periodic bookmark, its columns are moved to the next frame.
func (r *Recording) Through(rv uint64) *Recording {
	cut := *r
	cut.Frames = nil
	var columns []byte
	for i, frame := range r.Frames {
		e, err := frame.Event()
		timed := e.Type == Bookmark && (!e.InitialEnd || !asked().marks(r.Question))
		live := e.Type != Bookmark && e.RV > rv
		if err == nil && (timed || live) {
			if i == 0 {
				columns = e.Columns
			}
			continue
		}
		if len(cut.Frames) == 0 && len(columns) > 0 {
			frame = Frame{Line: bytes.Replace(frame.Line, []byte(noColumns),
				fmt.Appendf(nil, `"columnDefinitions":%s,"rows":`, columns), 1), At: frame.At}
		}
		cut.Frames = append(cut.Frames, frame)
	}
	return &cut
}

const noColumns = `"columnDefinitions":null,"rows":`

// Failed reports whether a recording is of a refusal, or contains an ERROR event.
func (r *Recording) Failed() bool {
	if r.Code != http.StatusOK && r.Code != http.StatusSwitchingProtocols {
		return true
	}
	return slices.ContainsFunc(r.Frames, func(f Frame) bool {
		e, err := f.Event()
		return err != nil || e.Type == "ERROR"
	})
}

// DiffBegun returns the differences of recordings that ended at different times, for example by a timeout, or an empty
// string. It ignores the last frames of the longer recording, because only one of the servers may have sent the last
// writes. It compares all frames of a failed watch.
func DiffBegun(want, got *Recording) string {
	w, g := want.Through(math.MaxUint64), got.Through(math.MaxUint64)
	if !w.Failed() && !g.Failed() {
		n := min(len(w.Frames), len(g.Frames))
		w.Frames, g.Frames = w.Frames[:n], g.Frames[:n]
	}
	return DiffRecordings(w, g)
}

// DiffEnds returns the difference of the reasons why two watches ended (Recording.Err), or an empty string.
func DiffEnds(want, got *Recording) string {
	want, got = asked().recordings(want, got)
	if fmt.Sprint(want.Err) == fmt.Sprint(got.Err) {
		return ""
	}
	return fmt.Sprintf("end: upstream %v, facade %v\n", want.Err, got.Err)
}

// DiffRecordings returns the differences of two recordings, byte by byte after masking, or an empty string.
func DiffRecordings(want, got *Recording) string {
	want, got = asked().recordings(want, got)
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
			w = columnsAgain.ReplaceAll(w, []byte(noColumns))
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
