package handlers

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// routes is every path that the facade answers.
func (s *Server) routes() http.Handler {
	r := chi.NewRouter()
	r.Use(s.observe, s.recover, s.headers)
	r.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { s.writeError(w, r, errMethod) }) // methods that chi does not know
	r.Get("/metrics", s.Metrics.Handler().ServeHTTP)
	for _, probe := range []string{"healthz", "livez", "readyz"} {
		r.HandleFunc("/"+probe, s.health(probe))
		r.HandleFunc("/"+probe+"/{check}", s.health(probe))
	}
	reads := r.With(s.readOnly, s.deadline)
	reads.Handle("/api/*", s.answer(s.resourceOrDocument))
	reads.Handle("/apis/*", s.answer(s.resourceOrDocument))
	reads.Handle("/*", s.answer(s.other))
	return r
}

// resourceOrDocument tells discovery documents from objects below /api and /apis.
func (s *Server) resourceOrDocument(w http.ResponseWriter, r *http.Request) error {
	if isDocument(r.URL.Path) {
		return s.document(w, r)
	}
	return s.resource(w, r)
}

// other answers everything outside /api and /apis.
func (s *Server) other(w http.ResponseWriter, r *http.Request) error {
	if isDocument(r.URL.Path) {
		return s.document(w, r)
	}
	return s.forward(w, r)
}
