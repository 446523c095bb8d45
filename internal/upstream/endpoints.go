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
// them, the endpoint in use. When that endpoint cannot be reached, does not answer, or is not ready, another endpoint
// replaces it. The first endpoint in use that reports a cluster UID determines the cluster. After that, an endpoint of
// another cluster, or without a UID, does not replace the endpoint in use
// (docs/adr/0022-several-upstream-endpoints.md). Safe for concurrent use.
type Endpoints struct {
	base  *url.URL // address in the results of Config; each request replaces it with an endpoint's address
	all   []*endpoint
	now   atomic.Pointer[endpoint]
	moved func(Move)

	// guards the fields below and the choice of another endpoint; not held during requests
	mu      sync.Mutex
	cluster string        // UID of the cluster; empty while unknown
	looked  time.Time     // end of the last check started by a request
	looking chan struct{} // closed at the end of a check started by a request; nil without such a check
}

const (
	// lookEvery is the interval between checks of all endpoints. lookWait is the timeout of a check, which takes about
	// a millisecond. The endpoint in use is replaced after mostLooks failed checks in a row, or immediately if a
	// request cannot connect to it.
	lookEvery = 2 * time.Second
	lookWait  = 2 * time.Second
	mostLooks = 2
	// chooseEvery is the minimum time between two checks started by requests while no endpoint is ready.
	chooseEvery = time.Second
	// leftFor is how long requests in progress may continue at an endpoint that was replaced. A server that shuts down
	// ends its requests sooner. A server that has lost its etcd does not end its watches, and the lanes of these watches
	// would stay at an old state.
	leftFor = 30 * time.Second
)

// Move is a change of the endpoint in use, from one host to another, with the reason.
type Move struct {
	From, To string
	Why      error
}

// NewEndpoints returns the endpoints with the given URLs. The first URL is used first. config provides the credentials,
// but its server is used only if urls contains it. moved is called at each change of the endpoint in use, with a lock
// held. moved must not send requests.
func NewEndpoints(urls []string, config *rest.Config, hop Hop, moved func(Move)) (*Endpoints, error) {
	e := &Endpoints{moved: moved}
	for _, address := range urls {
		one, err := newEndpoint(address, config, hop)
		if err != nil {
			return nil, err
		}
		e.all = append(e.all, one)
	}
	if len(e.all) == 0 {
		return nil, errors.New("no endpoint is given")
	}
	e.base = e.all[0].url
	e.now.Store(e.all[0])
	return e, nil
}

// Config returns a copy of config whose clients send requests to the endpoint in use.
func (e *Endpoints) Config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Host, config.APIPath = e.base.String(), ""
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return endpointTransport{endpoints: e, next: next} })
	return config
}

// EndpointState is the state of one endpoint.
type EndpointState struct {
	Host         string
	InUse, Ready bool
	Why          error // reason why the endpoint is not ready; nil if it is ready, or before the first check
}

// States returns the state of each endpoint, in the order of NewEndpoints.
func (e *Endpoints) States() []EndpointState {
	now, all := e.now.Load(), make([]EndpointState, len(e.all))
	for i, one := range e.all {
		_, why := one.trouble()
		all[i] = EndpointState{Host: one.url.Host, InUse: one == now, Ready: one.ready.Load(), Why: why}
	}
	return all
}

// Run checks the endpoints until the context ends.
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

// lookAtAll checks each endpoint. It replaces an endpoint in use that failed too often or belongs to another cluster.
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
		e.cluster = now.cluster() // the cluster that lanes were read from
	}
	next := e.fit(now)
	switch times, why := now.trouble(); {
	case why == nil, errors.Is(why, errUnknownCluster): // the endpoint answers
	case next != nil && (times >= mostLooks || errors.Is(why, errOtherCluster)):
		e.use(next, why)
	case next == nil && errors.Is(why, errOtherCluster):
		e.cluster = now.cluster() // the cluster was recreated, which lanes detect themselves
	}
	for _, one := range e.all {
		one.endWhatIsLeft(time.Now(), one == e.now.Load())
	}
}

// leave replaces an endpoint to which a request could not be sent. It returns the endpoint to try next, or nil if there
// is none or the request has ended. If no endpoint is known to be ready, one request checks all of them, and other
// requests wait for the result.
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

// successor returns the endpoint to use next, or nil. If looking is not nil, the other endpoints have to be checked
// first, and looking is closed at the end of that check. If others is true, another request runs the check. Otherwise
// the caller must run it by seek.
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

// seek checks all other endpoints at the same time, until one is ready. If the context ends before that, the result is
// unknown, and the next request may seek.
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

// others returns all endpoints except the given one. The endpoints after it in the list come first.
func (e *Endpoints) others(than *endpoint) []*endpoint {
	at := slices.Index(e.all, than)
	return slices.Concat(e.all[at+1:], e.all[:at])
}

// fit returns the first endpoint other than the given one that is ready, or nil. The caller holds mu.
func (e *Endpoints) fit(than *endpoint) (next *endpoint) {
	for _, one := range e.others(than) {
		if why := isOf(one.cluster(), e.cluster); why != nil && one.ready.Load() {
			one.fails(why) // the endpoint was checked before the cluster was known
		}
		if next == nil && one.ready.Load() {
			next = one
		}
	}
	return next
}

var (
	errOtherCluster   = errors.New("endpoint belongs to another cluster")
	errUnknownCluster = errors.New("endpoint does not report the UID of its cluster")
)

// use changes the endpoint in use. Requests in progress at the previous endpoint are cancelled immediately if it hangs,
// otherwise after leftFor. The caller holds mu.
func (e *Endpoints) use(next *endpoint, why error) {
	from := e.now.Swap(next)
	if e.cluster == "" {
		e.cluster = next.cluster()
	}
	e.moved(Move{From: from.url.Host, To: next.url.Host, Why: why})
	from.leftUntil(time.Now().Add(leftFor))
	if isHang(why) {
		from.abandon(fmt.Errorf("%s does not answer: %w", from.url.Host, why))
	}
}

// isHang reports whether an error means that the endpoint hangs, so that requests in progress may wait forever. After
// other failures, the endpoint itself ends the requests: a server that shuts down closes its connections.
func isHang(why error) bool {
	var late net.Error
	return errors.Is(why, context.DeadlineExceeded) || errors.As(why, &late) && late.Timeout()
}
