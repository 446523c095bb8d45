package fresh

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// layout reads from the upstream's health checks whether all resources are in one etcd.
type layout struct {
	upstream  Upstream
	forgotten atomic.Uint64 // number of calls of forget

	seat       chan struct{} // held while a request runs, so that waiting readers use its response; guards the rest
	one        bool          // whether all resources are in one etcd, according to the last response
	asked      time.Time
	generation uint64 // value of forgotten before the last request was sent
}

const (
	// layoutAge is how long a response is used. A kube-apiserver is rarely restarted with another configuration. If
	// resources moved to another etcd, their versions also contradict each other, which is detected (membership.go).
	layoutAge = time.Minute
	// overridesSince is the first minor version of Kubernetes 1.x whose health checks name each etcd of
	// --etcd-servers-overrides.
	overridesSince = 33
)

func newLayout(upstream Upstream) *layout {
	return &layout{upstream: upstream, seat: make(chan struct{}, 1)}
}

// forget discards the results of all requests that have been sent, because the upstream may have been restarted with
// other etcds.
func (l *layout) forget() { l.forgotten.Add(1) }

// oneEtcd reports whether all resources are in one etcd. kube-apiserver has one health check for the main etcd, and one
// for each other etcd. If the health checks do not show the etcds, oneEtcd returns false.
func (l *layout) oneEtcd(ctx context.Context) (bool, error) {
	select {
	case l.seat <- struct{}{}:
		defer func() { <-l.seat }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	// All readers share the response, so the request must not depend on the context of a single reader.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWait)
	defer cancel()
	for time.Since(l.asked) > layoutAge || l.generation != l.forgotten.Load() {
		generation := l.forgotten.Load()
		one, err := l.ask(ctx)
		if err != nil {
			return false, err
		}
		l.one, l.asked, l.generation = one, time.Now(), generation
	}
	return l.one, nil
}

func (l *layout) ask(ctx context.Context) (bool, error) {
	text, err := l.upstream.ServerVersion(ctx)
	if err != nil {
		return false, err
	}
	var version struct{ Major, Minor string }
	if json.Unmarshal(text, &version) != nil {
		return false, nil
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil || version.Major != "1" || minor < overridesSince {
		return false, nil //nolint:nilerr // with an unreadable version, the number of etcds is unknown
	}
	checks, err := l.upstream.HealthChecks(ctx)
	if err != nil {
		return false, err
	}
	return bytes.Contains(checks, []byte("[+]etcd ok")) && !bytes.Contains(checks, []byte("etcd-override")), nil
}
