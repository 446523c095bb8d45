package auth

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	anonymousrequest "k8s.io/apiserver/pkg/authentication/request/anonymous"
)

// AnonymousMode decides how requests without credentials are treated.
type AnonymousMode string

// Values of AnonymousMode.
const (
	AnonymousOff        AnonymousMode = "off" // requests without credentials are refused; the zero value does the same
	AnonymousOn         AnonymousMode = "on"
	AnonymousAsUpstream AnonymousMode = "upstream" // requests without credentials are treated as by the upstream
)

// Getter sends GET requests to the upstream.
type Getter interface {
	// Get returns the status code and the body of the response.
	Get(ctx context.Context, path string) (int, []byte, error)
}

// anonymousPaths are the paths that a probe requests without credentials. Anonymous requests are accepted if the
// upstream accepts both. An upstream may accept anonymous requests for its health endpoints only (KEP-4633). Its
// authorizers do not apply this restriction. For such an upstream, the facade therefore refuses all anonymous
// requests.
var anonymousPaths = []string{"/healthz", "/api"}

const (
	anonymousInterval = 3 * time.Minute // time between probes after the first result
	anonymousRetry    = 5 * time.Second
	anonymousTimeout  = 5 * time.Second // for all requests of a probe
)

type anonymous struct {
	mode    AnonymousMode
	probe   Getter
	log     *zap.Logger
	caller  *Caller
	allowed atomic.Bool
	known   chan struct{} // closed when the first probe has a result, or immediately if no probe is needed
}

func newAnonymous(mode AnonymousMode, probe Getter, log *zap.Logger) *anonymous {
	response, _, _ := anonymousrequest.NewAuthenticator(nil).AuthenticateRequest(&http.Request{}) // never fails
	a := &anonymous{mode: mode, probe: probe, log: log, caller: NewCaller(response.User, Anonymously, time.Time{})}
	a.allowed.Store(mode == AnonymousOn)
	a.known = make(chan struct{})
	if !a.probes() {
		close(a.known)
	}
	return a
}

func (a *anonymous) authenticate() (*Caller, error) {
	if !a.allowed.Load() {
		return nil, ErrUnauthenticated
	}
	return a.caller, nil
}

func (a *anonymous) probes() bool { return a.mode == AnonymousAsUpstream && a.probe != nil }

// run probes the upstream until the context ends. While probes fail, the last result applies.
func (a *anonymous) run(ctx context.Context) {
	if !a.probes() {
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	known := false
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		allowed, err := a.probeUpstream(ctx)
		if err != nil {
			a.log.Debug("Failed to determine whether the upstream accepts anonymous requests", zap.Error(err))
			timer.Reset(anonymousRetry)
			continue
		}
		if before := a.allowed.Swap(allowed); before != allowed || !known {
			a.log.Info("Adopted the upstream's treatment of anonymous requests", zap.Bool("accepted", allowed))
		}
		if !known {
			close(a.known)
		}
		known = true
		timer.Reset(anonymousInterval)
	}
}

func (a *anonymous) probeUpstream(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, anonymousTimeout)
	defer cancel()
	for _, path := range anonymousPaths {
		code, _, err := a.probe.Get(ctx, path)
		switch {
		case err != nil:
			return false, fmt.Errorf("get %s without credentials: %w", path, err)
		case code == http.StatusUnauthorized:
			return false, nil
		case code != http.StatusOK && code != http.StatusForbidden:
			return false, fmt.Errorf("get %s without credentials: unexpected status code %d", path, code)
		}
	}
	return true, nil
}
