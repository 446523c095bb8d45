package split

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
)

var errNoFacade = errors.New("no facade is ready")

// facades sends reads to the facades that are ready, in turns. Safe for concurrent use.
type facades struct {
	all  []*server
	turn atomic.Uint32
	lost func(*server, *http.Request, error) // receives failed requests, except those that were canceled
}

// RoundTrip implements http.RoundTripper. It sends a request to the first facade that can be reached. It does not
// repeat a request that a facade has received, so that a request that crashes one facade does not crash the next. The
// error is errNoFacade, or the error of the request.
func (f *facades) RoundTrip(r *http.Request) (*http.Response, error) {
	first := int(f.turn.Add(1))
	var last *server
	for i := range f.all {
		s := f.all[(first+i)%len(f.all)]
		if !s.ready.Load() {
			continue
		}
		if last != nil {
			last.ready.Store(false)
		}
		last = s
		if answer, err := f.send(r, s); !unsent(err) || r.Context().Err() != nil {
			return answer, err
		}
	}
	if last == nil {
		return nil, errNoFacade
	}
	answer, err := f.send(r, last) // again, because the address may be a Service that now leads to another replica
	if !unsent(err) || r.Context().Err() != nil {
		return answer, err
	}
	last.ready.Store(false)
	return nil, errNoFacade
}

func (f *facades) send(r *http.Request, s *server) (*http.Response, error) {
	out, u := r.WithContext(r.Context()), *r.URL
	u.Scheme, u.Host = s.base.Scheme, s.base.Host
	out.URL, out.Host = &u, s.base.Host
	answer, err := s.many.RoundTrip(out)
	if err != nil && r.Context().Err() == nil {
		f.lost(s, r, err)
	}
	return answer, err
}

// untrusted reports whether the proxy cannot verify the certificate of any facade.
func (f *facades) untrusted() bool {
	return !slices.ContainsFunc(f.all, func(s *server) bool { return !s.untrusted.Load() })
}
