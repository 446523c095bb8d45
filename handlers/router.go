package handlers

import (
	"context"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/page"
)

const profilesPath = "/debug/pprof"

// routes registers all paths. Each path has the same handler chain, but its own last step.
func (s *Server) routes() http.Handler {
	resource, document := s.handlerChain(aboutResource, s.cache), s.handlerChain(aboutDocument, s.document)
	anything := s.handlerChain(aboutAnything, s.pass)
	facade := func(respond func(out *reply, q *Request) error) http.HandlerFunc {
		return s.handlerChain(aboutFacade, own(respond))
	}
	r := chi.NewRouter()
	r.MethodNotAllowed(anything) // for methods that chi does not support
	r.Handle("/metrics", facade(serve(s.metrics)))
	if s.slis != nil {
		r.Handle("/metrics/slis", facade(serve(s.slis)))
	}
	for _, probe := range []string{"healthz", "livez", "readyz"} {
		health := s.handlerChain(aboutHealth, own(s.health(probe)))
		r.Handle("/"+probe, health)
		r.Handle("/"+probe+"/{check}", health)
	}
	if s.clients != nil {
		r.Handle("/debug/clients", facade(s.topClients))
	}
	if s.inflight != nil {
		r.Handle("/debug/requests", facade(s.openRequests))
		r.Handle("/debug/watches", facade(s.openWatches))
	}
	if s.page != nil {
		operatorPage := facade(s.operatorPage)
		r.Handle(page.Path, operatorPage)
		r.Handle(page.Path+"/*", operatorPage)
	}
	for _, page := range s.zpages {
		r.Handle("/"+page.Name, facade(s.zpage(page)))
	}
	if s.profiles != nil {
		profiles := facade(serve(s.profiles))
		r.Handle(profilesPath, profiles) // redirects to the path with a slash
		r.Handle(profilesPath+"/*", profiles)
	}
	if s.level != nil {
		level := facade(s.setLevel)
		for _, path := range []string{"/debug/flags", "/debug/flags/", oplog.VerbosityPath, oplog.LevelPath} {
			r.Handle(path, level)
		}
	}
	either := func(rest http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if IsDocument(r.URL.Path) {
				document(w, r)
				return
			}
			rest(w, r)
		}
	}
	r.Handle("/api/*", either(resource))
	r.Handle("/apis/*", either(resource))
	r.Handle("/*", either(anything))
	return r
}

func (s *Server) pass(context.Context, *reply, *Request, Lane) (route, error) {
	return forwardFor(observe.NotARead), nil
}

func serve(handler http.Handler) func(out *reply, q *Request) error {
	return func(out *reply, _ *Request) error {
		out.hand(handler)
		return nil
	}
}

func (s *Server) setLevel(out *reply, q *Request) error {
	out.hand(s.level.Handler(q.Caller.Name()))
	return nil
}

// IsDocument reports whether a path is served from copies of the upstream's documents: discovery, OpenAPI or version.
func IsDocument(path string) bool {
	switch path {
	case "/api", "/apis", "/version", "/version/", "/openapi/v2", "/openapi/v3", "/api/", "/apis/":
		return true
	}
	if strings.HasPrefix(path, "/openapi/v3/") {
		return true
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	return (parts[0] == "api" && len(parts) == 2) || (parts[0] == "apis" && len(parts) <= 3)
}
