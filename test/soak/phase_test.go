package soak

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
)

// phase describes the failures that clients may see from the beginning of a fault until all have recovered.
type phase struct {
	name    string
	codes   []int // codes of answers that clients retry, in addition to 429
	garbage bool  // forwarded answers may be garbage
	relists bool  // watches may end with 410, because kube-apiserver has lost its window
	closes  bool  // watches may end before their timeout
}

// calm is the phase without a fault.
var calm = &phase{name: "calm"}

// starting is the phase before the first answers.
var starting = &phase{name: "the start", codes: away}

// away contains the allowed codes while kube-apiserver is unreachable.
var away = []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func (p *phase) String() string { return p.name }

// enter begins a phase.
func (s *soak) enter(p *phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong > enough {
		s.log("%d more errors during %s", s.wrong-enough, s.phase.Load())
	}
	s.wrong = 0
	s.phase.Store(p)
}

// enough is the number of errors that are logged per phase, because one failure affects many clients.
const enough = 5

// complain reports an error that the phase does not allow.
func (s *soak) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong++; s.wrong > enough {
		s.t.Fail()
		return
	}
	s.t.Errorf("%6.1fs: during %s: %s", time.Since(s.began).Seconds(), s.phase.Load(), fmt.Sprintf(format, args...))
}

// answered checks an error answer. Its code must be allowed in the current phase, or in the phase of the request.
func (s *soak) answered(asked *phase, code int, what string) {
	now := s.phase.Load()
	if code == http.StatusTooManyRequests || slices.Contains(asked.codes, code) || slices.Contains(now.codes, code) {
		s.refusals.Add(1)
		return
	}
	s.complain("%d: %s", code, what)
}

// failed checks a request without a complete answer.
func (s *soak) failed(ctx context.Context, asked *phase, format string, args ...any) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	// A forwarded answer is incomplete if kube-apiserver's answer is.
	if now := s.phase.Load(); asked == calm && now == calm {
		s.complain(format, args...)
	}
	s.refusals.Add(1)
}

// garbage contains malformed answers.
var garbage = []string{
	"<html><body>Please log in.</body></html>\n",
	`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99999999`,
	"{}\n",
	"\x00\x00\x00\x00\xff\xfe\n",
	`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"x"}}}` + "\n",
}

// spoiledBy reports whether an answer is garbage and the phase allows that.
func (s *soak) spoiledBy(asked *phase, body []byte) bool {
	if !asked.garbage && !s.phase.Load().garbage {
		return false
	}
	for _, g := range garbage {
		if bytes.Equal(body, []byte(g)) {
			s.refusals.Add(1)
			return true
		}
	}
	return false
}

// named reports whether a question is for one object.
func named(q testkit.Question) bool {
	u, err := url.Parse(q.Path)
	if err != nil {
		return false
	}
	rest := u.Path[strings.LastIndex(u.Path, "/")+1:]
	_, kind := prefixes[rest]
	return !kind
}
