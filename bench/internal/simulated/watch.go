package simulated

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// columns are the Table columns of pods in kube-apiserver.
//
//go:embed columns.json
var columns string

const tableBegin = `{"kind":"Table","apiVersion":"meta.k8s.io/v1",`

const (
	// bookmarkEvery is the interval of bookmarks.
	bookmarkEvery = 30 * time.Second
	// progressWatch is a timeout in seconds. A watch with at most this timeout immediately receives the events up to the
	// current version, and then a bookmark with that version.
	progressWatch = 5
)

// watch serves a watch until its timeout or until the client disconnects. It supports initial events only if the watch
// selects no pod.
func (s *Server) watch(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	version, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	seconds, _ := strconv.Atoi(query.Get("timeoutSeconds"))
	end, marks := time.NewTimer(time.Duration(max(seconds, 1))*time.Second), time.NewTicker(bookmarkEvery)
	defer end.Stop()
	defer marks.Stop()
	f, contentType := s.framesFor(r)
	w.Header().Set("Content-Type", contentType)
	var b []byte
	initial := query.Get("sendInitialEvents") != ""
	switch {
	case initial && !nothing(r):
		refuse(w, http.StatusUnprocessableEntity, "Invalid")
		return
	case !s.supports(r):
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	case version > 0 && version < s.oldest():
		refuse(w, http.StatusGone, "Expired")
		return
	}
	marked := !initial && seconds > progressWatch
	if !marked && (version == 0 || nothing(r)) {
		version = s.store.now()
	}
	for {
		var changed <-chan struct{}
		if !nothing(r) {
			var events []event
			events, changed = s.store.after(version)
			for _, e := range events {
				if version = e.state.version; s.selects(query, e.pod) {
					b = f.event(b, e)
				}
			}
		}
		if !marked {
			b, marked = f.bookmark(b, version, initial), true
		}
		if _, err := w.Write(b); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		b = b[:0]
		select {
		case <-changed:
		case <-marks.C:
			b = f.bookmark(b, version, false)
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// supports reports whether a watch has no other selector than one node, or a name that no pod has.
func (s *Server) supports(r *http.Request) bool {
	fields := r.URL.Query().Get("fieldSelector")
	name, byName := strings.CutPrefix(fields, nameSelector)
	node, byNode := strings.CutPrefix(fields, nodeSelector)
	switch {
	case r.URL.Query().Get("labelSelector") != "" || strings.Contains(fields, ","):
		return false
	case byName:
		_, known := s.pods.named(namespaceOf(r), name)
		return !known
	case byNode:
		return !strings.HasPrefix(node, "=")
	}
	return fields == ""
}

// selects reports whether a watch that the server supports selects a pod.
func (s *Server) selects(query url.Values, pod int) bool {
	node, ok := strings.CutPrefix(query.Get("fieldSelector"), nodeSelector)
	return !ok || node == s.pods.Node(pod)
}

const nodeSelector = "spec.nodeName="

// frames encodes the events of one watch.
type frames interface {
	event(b []byte, e event) []byte
	// bookmark appends a bookmark, which ends the initial events if initial is set.
	bookmark(b []byte, version uint64, initial bool) []byte
}

// framesFor returns the frames that a request asks for, and their media type.
func (s *Server) framesFor(r *http.Request) (frames, string) {
	if wantsProtobuf(r) {
		return &protobufFrames{pods: s.pods}, runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return &jsonFrames{pods: s.pods, columns: columns, table: wantsTable(r)}, "application/json"
}

// jsonFrames implements frames.
type jsonFrames struct {
	pods    *Pods
	table   bool
	columns string // of the next frame; null after the first one
}

func (f *jsonFrames) event(b []byte, e event) []byte {
	b = append(b, `{"type":"MODIFIED","object":`...)
	if f.table {
		b = f.pods.appendRow(f.row(b, e.state.version), e.pod, time.Now())
	}
	return f.end(f.pods.appendWhole(b, e.pod, e.state))
}

// row begins a Table with one row.
func (f *jsonFrames) row(b []byte, version uint64) []byte {
	b = fmt.Appendf(append(b, tableBegin...), `"metadata":{"resourceVersion":"%d"},"columnDefinitions":%s,"rows":[`,
		version, f.columns)
	f.columns = "null"
	return b
}

func (f *jsonFrames) end(b []byte) []byte {
	if f.table {
		b = append(b, "}]}"...)
	}
	return append(b, "}\n"...)
}

func (f *jsonFrames) bookmark(b []byte, version uint64, initial bool) []byte {
	b = append(b, `{"type":"BOOKMARK","object":`...)
	if f.table {
		b = append(f.row(b, version),
			`{"cells":["","0/0","","0","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e",`+
				`"\u003cnone\u003e"],"object":`...)
	}
	b = fmt.Appendf(append(b, typeMeta...), `"metadata":{"resourceVersion":"%d"`, version)
	if initial {
		b = append(b, `,"annotations":{"k8s.io/initial-events-end":"true"}`...)
	}
	return f.end(append(b, `},"spec":{"containers":null},"status":{}}`...))
}
