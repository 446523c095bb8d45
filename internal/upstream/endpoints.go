package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

// Endpoints are the addresses of the kube-apiservers of one cluster, which share an etcd. All requests go to one of
// them until it is left for another: because it cannot be reached, does not answer or says that it is not ready. It is
// not gone back to before the other has to be left, too. The cluster is that of the first endpoint that was in use and
// told; one that leads to another, or does not tell, is never asked after that
// (docs/adr/0022-several-upstream-endpoints.md). Safe for concurrent use.
type Endpoints struct {
	base     *url.URL // what clients are configured with; requests to it go to the endpoint in use
	all      []*endpoint
	now      atomic.Pointer[endpoint]
	notified func(Move)

	mu      sync.Mutex    // guards what follows, and choosing another endpoint; not held while one is asked
	cluster string        // the UID of the cluster; empty while it is not known
	looked  time.Time     // when all were looked at last because none was known to be fit
	looking chan struct{} // closed when who looks at all because of that is done; nil when nobody does
}

const (
	// lookEvery is how often it is looked whether the endpoints answer, and lookWait how long that may take: it takes a
	// millisecond. One that is in use is left when that fails so often, or at once when it refuses connections.
	lookEvery = 2 * time.Second
	lookWait  = 2 * time.Second
	mostLooks = 2
	// chooseEvery is how often endpoints that all did not answer are looked at because of a request.
	chooseEvery = time.Second
	// leftFor is how long what is under way at an endpoint that was left may go on: a server that ends is faster, and one
	// that has lost its etcd would keep lanes at what they were.
	leftFor = 30 * time.Second
)

// Move is that an endpoint was left for another, by their hosts, and why.
type Move struct {
	From, To string
	Why      error
}

// NewEndpoints are those with the given URLs, the first of which is asked at first. config says with which credentials;
// its server is none of them unless it is named, too. told is called when one is left for another, and must not ask
// any.
func NewEndpoints(urls []string, config *rest.Config, hop Hop, told func(Move)) (*Endpoints, error) {
	e := &Endpoints{notified: told}
	for _, address := range urls {
		one, err := newEndpoint(address, config, hop)
		if err != nil {
			return nil, err
		}
		e.all = append(e.all, one)
	}
	if len(e.all) == 0 {
		return nil, errors.New("there is no endpoint")
	}
	e.base = e.all[0].url
	e.now.Store(e.all[0])
	return e, nil
}

// Config is a configuration whose clients ask the endpoint in use.
func (e *Endpoints) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.APIPath = e.base.String(), ""
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return endpointTransport{endpoints: e, next: next} })
	return config
}

// EndpointState is what is known of one endpoint.
type EndpointState struct {
	Host         string
	InUse, Ready bool
	Why          error // why it is not ready; nil before anybody looked
}

// States are those of the endpoints, in their order.
func (e *Endpoints) States() []EndpointState {
	now, all := e.now.Load(), make([]EndpointState, len(e.all))
	for i, one := range e.all {
		_, why := one.trouble()
		all[i] = EndpointState{Host: one.url.Host, InUse: one == now, Ready: one.ready.Load(), Why: why}
	}
	return all
}

// Run looks at the endpoints until the context ends.
func (e *Endpoints) Run(ctx context.Context) {
	defer func() {
		for _, one := range e.all {
			one.client.CloseIdle()
		}
	}()
	again := time.NewTicker(lookEvery)
	defer again.Stop()
	for {
		e.lookAtAll(ctx)
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
	}
}

// lookAtAll looks at each endpoint, and leaves the one in use if it does not answer.
func (e *Endpoints) lookAtAll(ctx context.Context) {
	var looks sync.WaitGroup
	e.mu.Lock()
	cluster := e.cluster
	e.mu.Unlock()
	for _, one := range e.all {
		looks.Go(func() { one.look(ctx, cluster) })
	}
	looks.Wait()
	if ctx.Err() != nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now.Load()
	if now.ready.Load() && e.cluster == "" {
		e.cluster = now.cluster() // it is what lanes are of
	}
	next := e.fit(now)
	switch times, why := now.trouble(); {
	case why == nil, errors.Is(why, errUnknownCluster): // it answers
	case next != nil && (times >= mostLooks || errors.Is(why, errOtherCluster)):
		e.use(next, why)
	case next == nil && errors.Is(why, errOtherCluster):
		e.cluster = now.cluster() // it was made anew, and lanes find that out
	}
	for _, one := range e.all {
		one.endWhatIsLeft(time.Now(), one == e.now.Load())
	}
}

// leave chooses another endpoint because a request could not be sent to one. It returns the one to try instead, nil
// when there is none, or the request is over. Who comes when it was left already is given its successor; when none is
// known to be fit one request looks at all, and those that come meanwhile wait for what it finds.
func (e *Endpoints) leave(ctx context.Context, from *endpoint, why error) *endpoint {
	if e.now.Load() == from {
		from.fails(why)
	}
	for ctx.Err() == nil {
		next, looking, others := e.successor(from, why)
		switch {
		case looking == nil:
			return next
		case others:
			select {
			case <-looking:
			case <-ctx.Done():
			}
		default:
			e.seek(ctx, from)
		}
	}
	return nil
}

// successor is the endpoint to use instead of one; nil when there is none. When it takes a look at the others to know
// that, looking is closed when that is over, and the caller is to seek unless others do.
func (e *Endpoints) successor(from *endpoint, why error) (next *endpoint, looking <-chan struct{}, others bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := e.now.Load(); now != from {
		return now, nil, false
	}
	if next := e.fit(from); next != nil {
		e.use(next, why)
		return next, nil, false
	}
	if time.Since(e.looked) < chooseEvery {
		return nil, nil, false
	}
	if e.looking != nil {
		return nil, e.looking, true
	}
	e.looking = make(chan struct{})
	return nil, e.looking, false
}

// seek looks at the others, all at once, until one answers. When the context ends before that, nothing was found out,
// and the next who comes may seek.
func (e *Endpoints) seek(ctx context.Context, than *endpoint) {
	e.mu.Lock()
	cluster := e.cluster
	e.mu.Unlock()
	looking, found := context.WithCancel(ctx)
	defer found()
	var looks sync.WaitGroup
	for _, one := range e.others(than) {
		looks.Go(func() {
			if one.look(looking, cluster); one.ready.Load() {
				found()
			}
		})
	}
	looks.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if ctx.Err() == nil {
		e.looked = time.Now()
	}
	close(e.looking)
	e.looking = nil
}

// others are the endpoints behind one, and then those before it.
func (e *Endpoints) others(than *endpoint) []*endpoint {
	at := slices.Index(e.all, than)
	return slices.Concat(e.all[at+1:], e.all[:at])
}

// fit is the next endpoint that can be used, by what is known; nil when there is none. The caller holds mu.
func (e *Endpoints) fit(than *endpoint) (next *endpoint) {
	for _, one := range e.others(than) {
		if why := isOf(one.cluster(), e.cluster); why != nil && one.ready.Load() {
			one.fails(why) // it was looked at before the cluster was known
		}
		if next == nil && one.ready.Load() {
			next = one
		}
	}
	return next
}

var (
	errOtherCluster   = errors.New("it leads to another cluster")
	errUnknownCluster = errors.New("it does not tell which cluster it leads to")
)

// use sends what comes to another endpoint, and ends what is under way at one that hangs, and later at any. The caller
// holds mu.
func (e *Endpoints) use(next *endpoint, why error) {
	from := e.now.Swap(next)
	if e.cluster == "" {
		e.cluster = next.cluster()
	}
	e.notified(Move{From: from.url.Host, To: next.url.Host, Why: why})
	from.leftUntil(time.Now().Add(leftFor))
	if isHang(why) {
		from.abandon(fmt.Errorf("%s does not answer: %w", from.url.Host, why))
	}
}

// isHang tells whether what is under way at an endpoint may wait for ever. A server that ends says so to its clients.
func isHang(why error) bool {
	var late net.Error
	return errors.Is(why, context.DeadlineExceeded) || errors.As(why, &late) && late.Timeout()
}
