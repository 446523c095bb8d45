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

	"k8s.io/client-go/rest"
)

// endpoint is one of several addresses of the upstream.
type endpoint struct {
	url    *url.URL
	client *Client // of this one alone, to look at it
	ready  atomic.Bool

	mu    sync.Mutex                        // guards what follows
	times int                               // how often in a row it has not answered as it should
	why   error                             // the last time; nil when it has answered
	uid   string                            // of its cluster, since it answers; empty when it does not tell
	begun int64                             // requests
	open  map[int64]context.CancelCauseFunc // those that are under way, by their number
}

func newEndpoint(address string, config *rest.Config, hop Hop) (*endpoint, error) {
	own := rest.CopyConfig(config)
	own.Host, own.APIPath = address, ""
	client, err := NewClient(apart(own), hop)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	return &endpoint{url: client.base, client: client, open: map[int64]context.CancelCauseFunc{}}, nil
}

// look asks the endpoint whether it is ready, and, when it did not answer before, of which cluster.
func (o *endpoint) look(ctx context.Context) {
	asking, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	_, err := o.client.Get(asking, Target{Path: "/readyz"}, "*/*", maxErrorBody)
	if status := (*StatusError)(nil); errors.As(err, &status) && status.Code < http.StatusInternalServerError {
		err = nil // who may not ask is answered
	}
	uid := o.cluster()
	if err == nil && (uid == "" || !o.ready.Load()) {
		var told error
		if uid, told = o.client.ClusterUID(asking); told != nil {
			if status := (*StatusError)(nil); !errors.As(told, &status) {
				err = told
			}
			uid = ""
		}
	}
	if ctx.Err() != nil {
		return // who asks has left
	}
	if err != nil {
		o.fails(err)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times, o.why, o.uid = 0, nil, uid
	o.ready.Store(true)
}

// fails notes that the endpoint did not answer as it should.
func (o *endpoint) fails(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.times++
	o.why = why
	o.ready.Store(false)
}

// trouble is how often in a row it was found that the endpoint cannot be used, and why; nil when it can.
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

// begin is the context of a request to the endpoint. over is called when nothing is read of its answer any more.
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

// abandon ends what is under way. What begins later is not concerned.
func (o *endpoint) abandon(why error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, end := range o.open {
		end(why)
	}
}

// at is a request's URL at this endpoint instead of at another.
func (o *endpoint) at(u, base *url.URL) *url.URL {
	there := *u
	there.Scheme, there.Host = o.url.Scheme, o.url.Host
	prefix, own := strings.TrimSuffix(base.Path, "/"), strings.TrimSuffix(o.url.Path, "/")
	there.Path = own + strings.TrimPrefix(u.Path, prefix)
	if u.RawPath != "" {
		there.RawPath = own + strings.TrimPrefix(u.RawPath, prefix)
	}
	return &there
}
