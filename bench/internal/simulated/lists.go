package simulated

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// scratch contains reusable buffers for response bodies.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// list responds with a page of all pods.
func (s *Server) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit"))
	if limit <= 0 {
		refuse(w, http.StatusNotAcceptable, "NotAcceptable") // the facade always sets a limit
		return
	}
	number, version, _ := strings.Cut(query.Get("continue"), ".")
	from, _ := strconv.Atoi(number)
	if query.Get("resourceVersionMatch") == "Exact" {
		version = query.Get("resourceVersion")
	}
	to := min(from+limit, s.pods.Len())
	states, now := s.store.states(from, max(from, to))
	if version != "" && version != strconv.FormatUint(now, 10) {
		refuse(w, http.StatusGone, "Expired") // only the current version is available
		return
	}
	s.respond(w, r, &page{from: from, states: states, meta: s.metaOf(to, now)})
}

// page is a response with consecutive pods.
type page struct {
	from   int // number of the first pod
	states []state
	meta   *metav1.ListMeta
	whole  bool // whether the rows of a Table contain the pods
}

func (s *Server) respond(w http.ResponseWriter, r *http.Request, p *page) {
	b := scratch.Get().(*[]byte)
	contentType := "application/json"
	switch {
	case wantsTable(r):
		*b = s.appendTable((*b)[:0], p)
	case wantsProtobuf(r):
		*b, contentType = s.appendProtobufList((*b)[:0], p), runtime.ContentTypeProtobuf
	default:
		*b = s.appendList((*b)[:0], p)
	}
	w.Header().Set("Content-Type", contentType)
	if _, err := w.Write(*b); err == nil { // after an error, HTTP/2 may still read the buffer
		scratch.Put(b)
	}
}

func wantsTable(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "as=Table") }

// metaOf returns the list metadata of a page. to is the number of the first pod after the page.
func (s *Server) metaOf(to int, version uint64) *metav1.ListMeta {
	meta := &metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if left := int64(s.pods.Len() - to); left > 0 {
		meta.Continue, meta.RemainingItemCount = fmt.Sprintf("%d.%d", to, version), &left
	}
	return meta
}

func appendMeta(b []byte, meta *metav1.ListMeta) []byte {
	text, err := json.Marshal(meta)
	if err != nil {
		panic("BUG: encode list metadata: " + err.Error())
	}
	return append(append(b, `"metadata":`...), text...)
}

func (s *Server) appendList(b []byte, p *page) []byte {
	b = appendMeta(append(b, `{"kind":"PodList","apiVersion":"v1",`...), p.meta)
	b = append(b, `,"items":[`...)
	for i, state := range p.states {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.pods.appendPod(b, p.from+i, state)
	}
	return append(b, "]}\n"...)
}

// appendTable appends a Table.
func (s *Server) appendTable(b []byte, p *page) []byte {
	b = appendMeta(append(b, tableBegin...), p.meta)
	b = append(append(append(b, `,"columnDefinitions":`...), columns...), `,"rows":[`...)
	now := time.Now()
	for i := range p.states {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.pods.appendRow(b, p.from+i, now)
		if p.whole {
			b = append(s.pods.appendWhole(b, p.from+i, p.states[i]), '}')
			continue
		}
		b = append(b, "null}"...)
	}
	return append(b, "]}\n"...)
}
