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

// AnonymousMode is what becomes of requests without credentials.
type AnonymousMode string

// The modes.
const (
	AnonymousOff        AnonymousMode = "off" // nobody is anonymous; as is the zero value
	AnonymousOn         AnonymousMode = "on"
	AnonymousAsUpstream AnonymousMode = "upstream" // as the upstream is found to have it
)

// Getter reads paths of the upstream.
type Getter interface {
	// Get returns the answer's code and body.
	Get(ctx context.Context, path string) (int, []byte, error)
}

// anonymousPaths are asked for without credentials. An upstream may let the anonymous see its health and nothing else
// (KEP-4633), and then they are let in to nothing here: what they may is the upstream's authorizers' word, which do not
// know of that.
var anonymousPaths = []string{"/healthz", "/api"}

const (
	anonymousEvery = 3 * time.Minute // how often it is asked, once it is known
	anonymousRetry = 5 * time.Second
	anonymousWait  = 5 * time.Second // how long an answer may take
)

// anonymous lets the anonymous in or not.
type anonymous struct {
	mode   AnonymousMode
	probe  Getter
	log    *zap.Logger
	caller *Caller
	let    atomic.Bool
	known  chan struct{} // closed when it is known
}

func newAnonymous(mode AnonymousMode, probe Getter, log *zap.Logger) *anonymous {
	response, _, _ := anonymousrequest.NewAuthenticator(nil).AuthenticateRequest(&http.Request{}) // never refuses
	a := &anonymous{mode: mode, probe: probe, log: log, caller: NewCaller(response.User, Anonymously, time.Time{})}
	a.let.Store(mode == AnonymousOn)
	a.known = make(chan struct{})
	if !a.asks() {
		close(a.known)
	}
	return a
}

func (a *anonymous) authenticate() (*Caller, error) {
	if !a.let.Load() {
		return nil, ErrUnauthenticated
	}
	return a.caller, nil
}

func (a *anonymous) asks() bool { return a.mode == AnonymousAsUpstream && a.probe != nil }

// run asks the upstream again and again. What it said last holds while it does not say.
func (a *anonymous) run(ctx context.Context) {
	if !a.asks() {
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
		let, err := a.ask(ctx)
		if err != nil {
			a.log.Debug("whether the upstream lets the anonymous in is not known", zap.Error(err))
			timer.Reset(anonymousRetry)
			continue
		}
		if before := a.let.Swap(let); before != let || !known {
			a.log.Info("the anonymous are treated as by the upstream", zap.Bool("let in", let))
		}
		if !known {
			close(a.known)
		}
		known = true
		timer.Reset(anonymousEvery)
	}
}

// ask is true if no path is refused for lack of credentials.
func (a *anonymous) ask(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, anonymousWait)
	defer cancel()
	for _, path := range anonymousPaths {
		code, _, err := a.probe.Get(ctx, path)
		switch {
		case err != nil:
			return false, fmt.Errorf("get %s without credentials: %w", path, err)
		case code == http.StatusUnauthorized:
			return false, nil
		case code != http.StatusOK && code != http.StatusForbidden:
			return false, fmt.Errorf("get %s without credentials: the upstream answered %d", path, code)
		}
	}
	return true, nil
}
