package simulated

import (
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// one responds with a list of one pod, selected by name, as it was at an exact resourceVersion.
func (s *Server) one(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	name := strings.TrimPrefix(query.Get("fieldSelector"), nameSelector)
	version, err := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	pod, ok := s.pods.named(namespaceOf(r), name)
	switch {
	case err != nil || !ok:
		refuse(w, http.StatusNotFound, "NotFound") // the facade sends no such request
	case version < s.oldest() || version > s.store.now():
		refuse(w, http.StatusGone, "Expired")
	default:
		s.respond(w, r, &page{from: pod, states: []state{s.store.stateAt(pod, version)},
			meta:  &metav1.ListMeta{ResourceVersion: strconv.FormatUint(version, 10)},
			whole: query.Get("includeObject") == "Object"})
	}
}

// oldest returns the version before the first event.
func (s *Server) oldest() uint64 { return firstVersion + uint64(s.pods.Len()) }

// namespaceOf returns the namespace in the path of a request for pods; empty for all namespaces.
func namespaceOf(r *http.Request) string {
	namespace, ok := strings.CutPrefix(r.URL.Path, namespacesPath)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(namespace, "/pods")
}
