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

// phase is what clients may be told at some time: from the beginning of a fault until everybody has recovered.
type phase struct {
	name    string
	codes   []int // of answers, beside 429, with which clients are told to come again
	garbage bool  // what kube-apiserver is asked for in a client's name may be garbage
	relists bool  // watches may end with 410: kube-apiserver does not know any more what came after
	closes  bool  // watches may end before their time
}

// calm is when nothing is wrong.
var calm = &phase{name: "calm"}

// starting is when nobody has been answered yet.
var starting = &phase{name: "the start", codes: away}

// away is what is answered while kube-apiserver cannot be asked.
var away = []int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func (p *phase) String() string { return p.name }

// enter begins a phase.
func (s *soak) enter(p *phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong > enough {
		s.log("%d more complaints during %s", s.wrong-enough, s.phase.Load())
	}
	s.wrong = 0
	s.phase.Store(p)
}

// enough are the complaints of one phase that are told; a fault that is not borne concerns many.
const enough = 5

// complain tells of what may not be in this phase.
func (s *soak) complain(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong++; s.wrong > enough {
		s.t.Fail()
		return
	}
	s.t.Errorf("%6.1fs: during %s: %s", time.Since(s.began).Seconds(), s.phase.Load(), fmt.Sprintf(format, args...))
}

// answered judges an answer that is an error. What was asked in a phase may be answered with what is allowed in it,
// even if it is over.
func (s *soak) answered(asked *phase, code int, what string) {
	now := s.phase.Load()
	if code == http.StatusTooManyRequests || slices.Contains(asked.codes, code) || slices.Contains(now.codes, code) {
		s.refusals.Add(1)
		return
	}
	s.complain("%d: %s", code, what)
}

// failed judges an answer that did not come, or not as a whole.
func (s *soak) failed(ctx context.Context, asked *phase, format string, args ...any) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	// What kube-apiserver's answer lacks, ours lacks.
	if now := s.phase.Load(); asked == calm && now == calm {
		s.complain(format, args...)
	}
	s.refusals.Add(1)
}

// garbage is what comes instead of answers.
var garbage = []string{
	"<html><body>Please log in.</body></html>\n",
	`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"99999999`,
	"{}\n",
	"\x00\x00\x00\x00\xff\xfe\n",
	`{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":"x"}}}` + "\n",
}

// spoiledBy tells whether an answer is garbage in a phase when it may be.
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

// named tells whether a question is about one object.
func named(q testkit.Question) bool {
	u, err := url.Parse(q.Path)
	if err != nil {
		return false
	}
	rest := u.Path[strings.LastIndex(u.Path, "/")+1:]
	_, kind := prefixes[rest]
	return !kind
}
