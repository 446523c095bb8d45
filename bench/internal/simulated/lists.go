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

// scratch are buffers for response bodies.
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
	b := scratch.Get().(*[]byte)
	contentType := "application/json"
	switch {
	case wantsTable(r):
		*b = s.appendTable((*b)[:0], from, states, now)
	case wantsProtobuf(r):
		*b, contentType = s.appendProtobufList((*b)[:0], from, states, now), runtime.ContentTypeProtobuf
	default:
		*b = s.appendList((*b)[:0], from, states, now)
	}
	w.Header().Set("Content-Type", contentType)
	if _, err := w.Write(*b); err == nil { // after an error, HTTP/2 may still read the buffer
		scratch.Put(b)
	}
}

func wantsTable(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "as=Table") }

// metaOf returns the metadata of a page whose next pod is number to.
func (s *Server) metaOf(to int, version uint64) *metav1.ListMeta {
	meta := &metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)}
	if left := int64(s.pods.Len() - to); left > 0 {
		meta.Continue, meta.RemainingItemCount = fmt.Sprintf("%d.%d", to, version), &left
	}
	return meta
}

// appendMeta appends the list metadata of a page whose next pod is number to.
func (s *Server) appendMeta(b []byte, to int, version uint64) []byte {
	text, err := json.Marshal(s.metaOf(to, version))
	if err != nil {
		panic("BUG: encode list metadata: " + err.Error())
	}
	return append(append(b, `"metadata":`...), text...)
}

func (s *Server) appendList(b []byte, from int, states []state, version uint64) []byte {
	b = s.appendMeta(append(b, `{"kind":"PodList","apiVersion":"v1",`...), from+len(states), version)
	b = append(b, `,"items":[`...)
	for i, state := range states {
		if i > 0 {
			b = append(b, ',')
		}
		b = s.pods.appendPod(b, from+i, state)
	}
	return append(b, "]}\n"...)
}

// appendTable appends a Table with rows without objects.
func (s *Server) appendTable(b []byte, from int, states []state, version uint64) []byte {
	b = s.appendMeta(append(b, tableBegin...), from+len(states), version)
	b = append(append(append(b, `,"columnDefinitions":`...), columns...), `,"rows":[`...)
	now := time.Now()
	for i := range states {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(s.pods.appendRow(b, from+i, now), "null}"...)
	}
	return append(b, "]}\n"...)
}
