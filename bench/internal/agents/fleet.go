package agents

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2/hpack"
)

// Config describes the watches of a Fleet.
type Config struct {
	Address       string      // host and port of the server
	TLS           *tls.Config // without protocols
	Watches       []Watch
	PerConnection int      // number of watches on a connection
	Encoding      Encoding // JSON if nil
	// Openers is the maximum number of connections that open their watches at the same time after Start. 0 is
	// unlimited. After Cut there is no limit.
	Openers int
	// Header returns the headers of the requests on a connection. It may be nil.
	Header func(connection int) []hpack.HeaderField
	// Certificate returns the client certificate of a connection. It may be nil.
	Certificate func(connection int) *tls.Certificate
	// Stamp is the text in an event before the time of the change, which is in nanoseconds since 1970. Without Stamp, a
	// Fleet records no delays.
	Stamp string
	// Once leaves a watch closed after the server has ended it.
	Once bool
}

// Watch is one watch.
type Watch struct {
	Path    string // with a query that may be empty, but with its question mark
	Version uint64 // resourceVersion to start from; if 0, the watch lists first
}

// Fleet contains the connections of many watches. Its methods are safe for concurrent use.
type Fleet struct {
	config      Config
	connections []*connection
	counters    counters
	openers     chan struct{}
	stop        context.CancelFunc
	running     sync.WaitGroup
}

// counters are counts since Start. Only watching may decrease.
type counters struct {
	watching, events, lists, ended atomic.Int64

	mu       sync.Mutex     // guards the rest
	refusals map[int]int    // by status code
	failures map[string]int // by reason
}

// Counts are sums over all watches so far, except Watching, which is the current number.
type Counts struct {
	Watching int64 // open watches now
	Events   int64 // events without bookmarks
	Lists    int64
	Ended    int64 // watches that the server ended
}

// New returns a Fleet that has no connections yet.
func New(c Config) *Fleet {
	if c.Encoding == nil {
		c.Encoding = JSON{}
	}
	f := &Fleet{config: c, counters: counters{refusals: map[int]int{}, failures: map[string]int{}}}
	for watches := range slices.Chunk(c.Watches, c.PerConnection) {
		one := &connection{fleet: f}
		if c.Header != nil {
			one.header = c.Header(len(f.connections))
		}
		if c.Certificate != nil {
			one.certificate = c.Certificate(len(f.connections))
		}
		for _, w := range watches {
			one.resources = append(one.resources, &resource{path: w.Path, version: w.Version})
		}
		f.connections = append(f.connections, one)
	}
	return f
}

// Start opens all connections and returns immediately.
func (f *Fleet) Start(ctx context.Context) {
	ctx, f.stop = context.WithCancel(ctx)
	openers := f.config.Openers
	if openers == 0 {
		openers = len(f.connections)
	}
	f.openers = make(chan struct{}, openers)
	for _, c := range f.connections {
		f.running.Go(func() { c.run(ctx) })
	}
}

// Cut closes all connections. The Fleet opens them again immediately.
func (f *Fleet) Cut() {
	for _, c := range f.connections {
		c.cut()
	}
}

// Close ends all watches, and waits for the goroutines of the connections.
func (f *Fleet) Close() {
	f.stop()
	f.Cut()
	f.running.Wait()
}

// Counts returns the current counts.
func (f *Fleet) Counts() Counts {
	c := &f.counters
	return Counts{Watching: c.watching.Load(), Events: c.events.Load(), Lists: c.lists.Load(), Ended: c.ended.Load()}
}

// Refusals returns the numbers of refused requests by status code, such as "12 × 429".
func (f *Fleet) Refusals() string {
	c := &f.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for code := range 600 {
		if n := c.refusals[code]; n > 0 {
			all = append(all, fmt.Sprintf("%d × %d", n, code))
		}
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

// Delays returns, for all events since the last call of Delays, the time from the change until the client received it.
func (f *Fleet) Delays() []time.Duration {
	var all []time.Duration
	for _, c := range f.connections {
		c.mu.Lock()
		all, c.delays = append(all, c.delays...), nil
		c.mu.Unlock()
	}
	return all
}

// pollEvery is the interval at which Await reads the counts.
const pollEvery = 5 * time.Millisecond

// Await waits until the counts meet a condition, and returns how long that took.
func (f *Fleet) Await(ctx context.Context, met func(Counts) bool) (time.Duration, error) {
	began := time.Now()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !met(f.Counts()) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%+v, refused: %s, failed: %s: %w", f.Counts(), f.Refusals(), f.Failures(),
				context.Cause(ctx))
		}
	}
	return time.Since(began), nil
}

// Failures returns the numbers of failed connections and reset streams by reason.
func (f *Fleet) Failures() string {
	c := &f.counters
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, reason := range slices.Sorted(maps.Keys(c.failures)) {
		all = append(all, fmt.Sprintf("%d × %s", c.failures[reason], reason))
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}

// addresses matches the network addresses in error messages, which differ between connections.
var addresses = regexp.MustCompile(`[0-9.]+:[0-9]+(->)?`)

func (c *counters) failed(err error) {
	reason := addresses.ReplaceAllString(err.Error(), "")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures[reason]++
}

func (c *counters) refused(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusals[code]++
}
