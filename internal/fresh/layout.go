package fresh

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// layout is what the upstream says about where its resources live.
type layout struct {
	upstream Upstream

	seat  chan struct{} // held by who looks at the rest, or asks: whoever waits for it would ask the same
	one   bool          // the last answer
	asked time.Time
}

const (
	// layoutAge is how long an answer is believed; a kube-apiserver is not started with another configuration every
	// minute, and resources that move to another etcd contradict each other.
	layoutAge = time.Minute
	// overridesSince is the first minor version of 1.x whose health checks name each etcd of --etcd-servers-overrides.
	overridesSince = 33
)

func newLayout(upstream Upstream) *layout {
	return &layout{upstream: upstream, seat: make(chan struct{}, 1)}
}

// forget makes the upstream be asked anew: it may have been started with other etcds.
func (l *layout) forget() {
	select {
	case l.seat <- struct{}{}:
		l.asked = time.Time{}
		<-l.seat
	default: // somebody is asking
	}
}

// oneEtcd tells whether all resources are in one etcd, as kube-apiserver's health checks show: it has one for the etcd
// of most resources, and another for each etcd of others. What it does not say counts as no; an
// error is no answer.
func (l *layout) oneEtcd(ctx context.Context) (bool, error) {
	select {
	case l.seat <- struct{}{}:
		defer func() { <-l.seat }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if time.Since(l.asked) > layoutAge || l.asked.IsZero() {
		// The answer is for all, so the reader who happens to ask must not take it along when he leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWait)
		defer cancel()
		one, err := l.ask(ctx)
		if err != nil {
			return false, err
		}
		l.one, l.asked = one, time.Now()
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
		return false, nil //nolint:nilerr // a version that cannot be read is one that does not say
	}
	checks, err := l.upstream.HealthChecks(ctx)
	if err != nil {
		return false, err
	}
	return bytes.Contains(checks, []byte("[+]etcd ok")) && !bytes.Contains(checks, []byte("etcd-override")), nil
}
