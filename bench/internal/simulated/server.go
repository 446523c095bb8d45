package simulated

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// Server is the simulated kube-apiserver. It implements http.Handler.
type Server struct {
	pods  *Pods
	store *store
}

// NewServer returns a server of pods in their initial state.
func NewServer(pods *Pods) *Server { return &Server{pods: pods, store: newStore(pods.Len())} }

// Paths of the server.
const (
	podsPath       = "/api/v1/pods"
	namespacesPath = "/api/v1/namespaces/"
	authentication = "/apis/authentication.k8s.io/v1"
	authorization  = "/apis/authorization.k8s.io/v1"
)

// reviews are the responses to access reviews by path: everything is allowed.
var reviews = map[string]string{
	authorization + "/selfsubjectaccessreviews": `{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},` +
		`"spec":{},"status":{"allowed":true}}`,
	authorization + "/subjectaccessreviews": `{"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","metadata":{},` +
		`"spec":{},"status":{"allowed":true}}`,
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost && r.URL.Path == authentication+"/tokenreviews":
		s.reviewToken(w, r)
	case r.Method == http.MethodPost && reviews[r.URL.Path] != "":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, reviews[r.URL.Path]+"\n")
	case r.Method == http.MethodPost && r.URL.Path == UpdatesPath:
		s.update(w, r)
	case r.Method != http.MethodGet:
		refuse(w, http.StatusMethodNotAllowed, "MethodNotAllowed")
	case r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/pods"):
		s.watch(w, r)
	case nothing(r) && r.URL.Query().Get("resourceVersionMatch") == "Exact":
		s.one(w, r)
	case nothing(r):
		s.nothing(w, r)
	case r.URL.Path == podsPath:
		s.list(w, r)
	default:
		s.document(w, r.URL.Path)
	}
}

// reviewToken accepts every token, and returns the token as the name of the user.
func (s *Server) reviewToken(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Spec struct{ Token string }
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		refuse(w, http.StatusBadRequest, "BadRequest")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"kind":"TokenReview","apiVersion":"authentication.k8s.io/v1","metadata":{},"spec":{},`+
		`"status":{"authenticated":true,"user":{"username":%q,"groups":["system:authenticated"]}}}`+"\n", review.Spec.Token)
}

// nothing reports whether a request selects objects by name. The facade then selects a name that no object has, except
// at an exact version.
func nothing(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Query().Get("fieldSelector"), nameSelector)
}

const nameSelector = "metadata.name="

// nothing responds with an empty list of pods or of events.
func (s *Server) nothing(w http.ResponseWriter, r *http.Request) {
	kind := "PodList"
	if strings.HasSuffix(r.URL.Path, "/events") {
		kind = "EventList"
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}`+"\n", kind,
		s.store.now())
}

// documents are the responses of discovery and probes.
var documents = map[string]string{
	"/version":                       `{"major":"1","minor":"37","emulationMajor":"1","emulationMinor":"37","gitVersion":"v1.37.1"}`,
	"/api/v1/namespaces/kube-system": `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"6b2f7c1e-57c5-4c0e-9d5a-0f3f6a1f2d10"}}`,
	"/livez":                         "ok",
	"/healthz":                       "ok",
	"/api":                           `{"kind":"APIVersions","versions":["v1"]}`,
	"/apis":                          `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
	"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod",` +
		`"verbs":["get","list","watch"]}]}`,
	"/apis/apiregistration.k8s.io/v1/apiservices": `{"kind":"APIServiceList","apiVersion":"apiregistration.k8s.io/v1","metadata":{},"items":[` +
		`{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}},"spec":{"group":"","version":"v1"}}]}`,
}

func (s *Server) document(w http.ResponseWriter, path string) {
	text, ok := documents[path]
	if !ok {
		refuse(w, http.StatusNotFound, "NotFound")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, text+"\n")
}

// refuse responds with a Status.
func refuse(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"simulated","reason":%q,"code":%d}`+"\n", reason, code)
}

// Serve serves the given numbers of pods and nodes (NewPods) on a free port. When the pods are prepared, it writes its
// address as the first line of its standard output. It returns when its standard input ends, which happens at the
// latest when the parent process exits.
func Serve(pods, nodes int, certFile, keyFile string) error {
	all, err := NewPods(pods, nodes)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: NewServer(all), ReadHeaderTimeout: 10 * time.Second}
	if _, err := fmt.Fprintln(os.Stdout, listener.Addr()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error counts as the end
		_ = server.Shutdown(context.Background())
	}()
	if err := server.ServeTLS(listener, certFile, keyFile); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("simulate a kube-apiserver: %w", err)
	}
	return nil
}
