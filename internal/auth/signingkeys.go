package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

const (
	// keysFor is how long keys are used after the request for them. A key that kube-apiserver no longer publishes is
	// forgotten as fast as a cached TokenReview.
	keysFor = 10 * time.Second
	// keysEvery is the interval between requests while tokens need the keys.
	keysEvery = 4 * time.Second
	// keysIdle is how long the keys are still requested after their last use.
	keysIdle = time.Minute
	// keysWait is the timeout of fetching the keys. It also bounds how long a token waits if kube-apiserver does not
	// answer.
	keysWait = 2 * time.Second
	// keysAgain is the minimum pause between requests. After a failed request, a token causes another request only after
	// keysFailed.
	keysAgain, keysFailed = time.Second, 10 * time.Second
)

// signingKeys are the public keys of the upstream's service account tokens. They are requested when a token needs them,
// and then every keysEvery until keysIdle after the last use. Safe for concurrent use.
type signingKeys struct {
	from Getter
	log  *zap.Logger
	used atomic.Int64 // time of the last use, in Unix nanoseconds
	last atomic.Pointer[publishedKeys]

	mu     sync.Mutex // locked during a request; guards the fields below
	ended  time.Time  // end of the last request
	failed string     // why the last request failed; empty if it succeeded
}

// publishedKeys are the keys in one pair of responses. Immutable.
type publishedKeys struct {
	*serviceaccount.Keys
	asked           time.Time
	discovery, keys []byte
}

// current returns the keys; nil if they are too old.
func (s *signingKeys) current() *serviceaccount.Keys {
	s.used.Store(time.Now().UnixNano())
	if last := s.last.Load(); last != nil && time.Since(last.asked) < keysFor {
		return last.Keys
	}
	return nil
}

// find returns the current keys, or nil if there are none. If they are too old, or lack the token's key, it first
// requests them again (request).
func (s *signingKeys) find(ctx context.Context, u *serviceaccount.Unverified) *serviceaccount.Keys {
	keys := s.current()
	if keys == nil || !keys.Knows(u) {
		s.request(ctx, keysFailed)
		keys = s.current()
	}
	return keys
}

// request requests the keys unless a request has ended within keysAgain, or has failed within afterFailure.
func (s *signingKeys) request(ctx context.Context, afterFailure time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pause := keysAgain
	if s.failed != "" {
		pause = afterFailure
	}
	if !s.ended.IsZero() && time.Since(s.ended) < pause {
		return
	}
	next, err := s.fetch(ctx)
	s.ended = time.Now()
	switch {
	case err == nil:
		s.last.Store(next)
		s.failed = ""
	case s.failed != err.Error():
		s.failed = err.Error()
		s.log.Warn("Cannot read the public keys of service account tokens; without them, each token costs a TokenReview",
			zap.Error(err))
	}
}

var errKeyStatus = errors.New("unexpected status code")

func (s *signingKeys) fetch(ctx context.Context) (*publishedKeys, error) {
	ctx, cancel := context.WithTimeout(ctx, keysWait)
	defer cancel()
	next := &publishedKeys{asked: time.Now()}
	for _, document := range []struct {
		path string
		body *[]byte
	}{{serviceaccount.DiscoveryPath, &next.discovery}, {serviceaccount.KeysPath, &next.keys}} {
		code, body, err := s.from.Get(ctx, document.path)
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("%w %d", errKeyStatus, code)
		}
		if err != nil {
			return nil, fmt.Errorf("get %s: %w", document.path, err)
		}
		*document.body = body
	}
	if last := s.last.Load(); last != nil && bytes.Equal(last.discovery, next.discovery) &&
		bytes.Equal(last.keys, next.keys) {
		next.Keys = last.Keys
		return next, nil
	}
	var err error
	next.Keys, err = serviceaccount.ParseKeys(next.discovery, next.keys)
	return next, err
}

func (s *signingKeys) run(ctx context.Context) {
	tick := time.NewTicker(keysEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if time.Since(time.Unix(0, s.used.Load())) < keysIdle {
				s.request(ctx, keysAgain)
			}
		case <-ctx.Done():
			return
		}
	}
}
