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

	turn  chan struct{} // held by who looks at the rest, or asks: whoever waits for it would ask the same
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
	return &layout{upstream: upstream, turn: make(chan struct{}, 1)}
}

// oneEtcd tells whether all resources are in one etcd, as kube-apiserver's health checks show: it has one for the etcd
// of most resources, and another for each etcd of others. What cannot be found out counts as no.
func (l *layout) oneEtcd(ctx context.Context) bool {
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return false
	}
	if time.Since(l.asked) > layoutAge || l.asked.IsZero() {
		// The answer is for all, so the reader who happens to ask must not take it along when he leaves.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sharedWait)
		defer cancel()
		l.one, l.asked = l.ask(ctx), time.Now()
	}
	return l.one
}

func (l *layout) ask(ctx context.Context) bool {
	text, err := l.upstream.ServerVersion(ctx)
	var version struct{ Major, Minor string }
	if err != nil || json.Unmarshal(text, &version) != nil {
		return false
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil || version.Major != "1" || minor < overridesSince {
		return false
	}
	checks, err := l.upstream.HealthChecks(ctx)
	return err == nil && bytes.Contains(checks, []byte("[+]etcd ok")) && !bytes.Contains(checks, []byte("etcd-override"))
}
