package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/listfacade/listfacade/internal/observe"
)

// Who gave an answer.
const (
	sourceFacade   = "facade"
	sourceCache    = "cache"
	sourceUpstream = "upstream"
)

// trail is what is learned about a request while it is answered; it becomes one log event and one count.
type trail struct {
	verb                     string
	group, version, resource string
	source                   string
}

type trailKey struct{}

func trailOf(r *http.Request) *trail { return r.Context().Value(trailKey{}).(*trail) }

func (t *trail) describe(info *request.RequestInfo) {
	t.verb, t.group, t.version, t.resource = info.Verb, info.APIGroup, info.APIVersion, info.Resource
}

// observe counts and logs each request when it is done.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		t := &trail{verb: "other", source: sourceFacade}
		wrapped := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		defer func() {
			took := time.Since(began)
			resource := t.resource
			if t.source != sourceCache {
				t.group, t.version, resource = "", "", "" // only names that discovery knows may become series
			}
			s.Metrics.Answered(observe.Request{
				Verb: t.verb, Group: t.group, Version: t.version, Resource: resource, Source: t.source,
				Code: wrapped.Status(), Bytes: int64(wrapped.BytesWritten()), Took: took,
			})
			s.log.Debug("answered", zap.String("method", r.Method), zap.String("uri", r.URL.RequestURI()), zap.Int("code", wrapped.Status()),
				zap.String("source", t.source), zap.Int("bytes", wrapped.BytesWritten()), zap.Duration("took", took),
				zap.String("userAgent", r.UserAgent()))
		}()
		next.ServeHTTP(wrapped, r.WithContext(context.WithValue(r.Context(), trailKey{}, t)))
	})
}

// recover turns a panic into a 500 for one client, or breaks its connection off when it has part of an answer already; the
// process lives, and the stack is in the log.
func (s *Server) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(reason) // a body that broke off: net/http aborts the connection
			}
			s.log.Error("a request panicked", zap.Any("reason", reason), zap.String("path", r.URL.Path), zap.Stack("stack"))
			s.fail(w, r, fmt.Errorf("panic: %v", reason))
		}()
		next.ServeHTTP(w, r)
	})
}

// auditID is what a client may choose as the id of its request; kube-apiserver takes anything, but ids are logged.
var auditID = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// headers sets what is in every answer (semantics 6.7).
func (s *Server) headers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("Audit-Id")
		if !auditID.MatchString(id) {
			id = uuid.NewString()
		}
		r.Header.Set("Audit-Id", id)
		w.Header().Set("Audit-Id", id)
		w.Header().Set("Cache-Control", "no-cache, private")
		next.ServeHTTP(w, r)
	})
}

// readOnly refuses every method that is not a read. HEAD is the upstream's to answer: it is allowed for custom resources
// and refused for built-in ones (semantics 8.5).
func (s *Server) readOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			next.ServeHTTP(w, r)
		case http.MethodHead:
			s.answer(s.forward)(w, r)
		default:
			s.writeError(w, r, errMethod)
		}
	})
}

// deadline bounds every request but watches by the server's request timeout, or by a shorter one that the client names
// (semantics 1.1).
func (s *Server) deadline(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := resolver.NewRequestInfo(r)
		if err != nil || info.Verb == verbWatch || info.Subresource == "log" {
			next.ServeHTTP(w, r)
			return
		}
		limit := s.RequestTimeout
		if asked := r.URL.Query().Get("timeout"); asked != "" {
			wanted, err := time.ParseDuration(asked)
			if err != nil {
				s.writeError(w, r, badRequest("invalid timeout specified in the request URL - "+err.Error()))
				return
			}
			if wanted > 0 {
				limit = min(limit, wanted)
			}
		}
		ctx, cancel := context.WithTimeout(r.Context(), limit)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// answer adapts a handler that returns its error.
func (s *Server) answer(handle func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := handle(w, r)
		if err != nil {
			s.fail(w, r, err)
		}
	}
}

// fail ends a request that went wrong.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if wrote, ok := w.(middleware.WrapResponseWriter); ok && wrote.Status() != 0 {
		panic(http.ErrAbortHandler) // a body that broke off must not look whole
	}
	s.writeError(w, r, err)
}
