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

// endpoint is one of several addresses of the upstream.
type endpoint struct {
	url    *url.URL
	client *Client       // of this one alone, to look at it
	wait   time.Duration // how long a look may take
	ready  atomic.Bool

	mu    sync.Mutex                        // guards what follows
	times int                               // how often in a row it has not answered as it should
	why   error                             // the last time; nil when it has answered
	uid   string                            // of its cluster, as it told last; empty while it has not
	until time.Time                         // when what is under way there is ended, since it was left; zero for never
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
	return &endpoint{url: client.base, client: client, wait: lookWait, open: map[int64]context.CancelCauseFunc{}}, nil
}

// look asks the endpoint whether it is ready, and, when it did not answer before, of which cluster. It has to be the
// one that is named; empty is any.
func (o *endpoint) look(ctx context.Context, cluster string) {
	asking, cancel := context.WithTimeout(ctx, o.wait)
	defer cancel()
	_, err := o.client.Get(asking, Target{Path: "/readyz"}, "*/*", maxErrorBody)
	if HasCode(err, http.StatusForbidden, http.StatusNotFound, http.StatusTooManyRequests) {
		err = nil // who may not ask is answered
	}
	uid := o.cluster()
	if err == nil && (uid == "" || !o.ready.Load()) {
		told := ""
		var status *StatusError
		told, err = o.client.ClusterUID(asking)
		switch {
		case err == nil:
			uid = told
		case HasCode(err, http.StatusForbidden):
			err = nil // what it has told remains
		case errors.As(err, &status):
			err = fmt.Errorf("%w: %w", errUnknownCluster, err)
		}
	}
	if err == nil {
		err = isOf(uid, cluster)
	}
	if ctx.Err() != nil {
		return // who asks has left
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

// isOf tells why an endpoint that says that it is of one cluster, or does not say it, cannot be asked for another.
func isOf(uid, cluster string) error {
	switch {
	case cluster == "" || uid == cluster:
		return nil
	case uid == "":
		return errUnknownCluster
	}
	return errOtherCluster
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

// leftUntil lets what is under way go on for a while.
func (o *endpoint) leftUntil(end time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.until = end
}

// endWhatIsLeft ends what is under way when its time is over, unless the endpoint is in use again.
func (o *endpoint) endWhatIsLeft(now time.Time, inUse bool) {
	o.mu.Lock()
	over := !o.until.IsZero() && !now.Before(o.until)
	if over || inUse {
		o.until = time.Time{}
	}
	o.mu.Unlock()
	if over && !inUse {
		o.abandon(fmt.Errorf("%s was left", o.url.Host))
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
