package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

type endpoint struct {
	url    *url.URL
	client *Client       // sends only the checks of this endpoint
	wait   time.Duration // maximum duration of a check
	ready  atomic.Bool

	mu    sync.Mutex                        // guards the fields below
	times int                               // consecutive failures
	why   error                             // error of the last failure; nil after a successful check
	uid   string                            // UID of the endpoint's cluster, as last reported; empty before that
	until time.Time                         // when requests in progress are cancelled; zero for never
	begun int64                             // number of requests so far
	open  map[int64]context.CancelCauseFunc // requests in progress, by number
}

func newEndpoint(address string, config *rest.Config, hop Hop) (*endpoint, error) {
	own := rest.CopyConfig(config)
	own.Host, own.APIPath = address, ""
	client, err := NewClient(apart(own), hop)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &endpoint{url: client.base, client: client, wait: lookWait, open: map[int64]context.CancelCauseFunc{}}, nil
}

// look checks whether the endpoint is ready. If the endpoint was not ready before, or its cluster is unknown, look also
// reads the UID of its cluster. Unless cluster is empty, the endpoint is ready only if its UID equals cluster.
func (o *endpoint) look(ctx context.Context, cluster string) {
	lookCtx, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	_, err := o.client.Get(lookCtx, Target{Path: "/readyz"}, "*/*", maxErrorBody)
	if HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests) {
		err = nil // a refusal is an answer, too
	}
	uid := o.cluster()
	if err == nil && (uid == "" || !o.ready.Load()) {
		reported := ""
		var status *StatusError
		reported, err = o.client.ClusterUID(lookCtx)
		switch {
		case err == nil:
			uid = reported
		case HasCode(err, http.StatusForbidden):
			err = nil // keep the last reported UID
		case errors.As(err, &status):
			err = fmt.Errorf("%w: %w", errUnknownCluster, err)
		}
	}
	if err == nil {
		err = isOf(uid, cluster)
	}
	if ctx.Err() != nil {
		return // the check was cancelled
	}
	o.mu.Lock()
	o.uid = uid
	o.mu.Unlock()
	if err != nil {
		o.fails(err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times, o.why = 0, nil
	o.ready.Store(true)
}

// isOf returns an error if an endpoint that reports uid cannot be used for a cluster. An empty uid means that the
// endpoint reports no UID. If cluster is empty, each endpoint can be used.
func isOf(uid, cluster string) error {
	switch {
	case cluster == "" || uid == cluster:
		return nil
	case uid == "":
		return errUnknownCluster
	}
	return errOtherCluster
}

func (o *endpoint) fails(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times++
	o.why = why
	o.ready.Store(false)
}

func (o *endpoint) trouble() (times int, why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.times, o.why
}

func (o *endpoint) cluster() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.uid
}

// begin returns the context of a request to the endpoint. The caller calls over() when it has read the response.
func (o *endpoint) begin(ctx context.Context) (_ context.Context, over func()) {
	ctx, end := context.WithCancelCause(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun++
	number := o.begun
	o.open[number] = end
	return ctx, func() {
		o.mu.Lock()
		delete(o.open, number)
		o.mu.Unlock()
		end(nil)
	}
}

func (o *endpoint) abandon(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, end := range o.open {
		end(why)
	}
}

func (o *endpoint) leftUntil(end time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = end
}

// endWhatIsLeft cancels the requests in progress if the time set by leftUntil has passed, unless the endpoint is in use
// again.
func (o *endpoint) endWhatIsLeft(now time.Time, inUse bool) {
	o.mu.Lock()
	over := !o.until.IsZero() && !now.Before(o.until)
	if over || inUse {
		o.until = time.Time{}
	}
	o.mu.Unlock()
	if over && !inUse {
		o.abandon(fmt.Errorf("requests to %s now go to another endpoint", o.url.Host))
	}
}

func (o *endpoint) at(u, base *url.URL) *url.URL {
	target := *u
	target.Scheme, target.Host = o.url.Scheme, o.url.Host
	prefix, own := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(o.url.Path, "/")
	target.Path = own + strings.TrimPrefix(u.Path, prefix)
	if u.RawPath != "" {
		target.RawPath = own + strings.TrimPrefix(u.RawPath, prefix)
	}
	return &target
}
