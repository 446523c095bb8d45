package fresh

import (
	"context"
	"testing"

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// restarting is an upstream that is restarted with a second etcd after it has sent its first health checks. The lanes
// notice the restart before the response arrives.
type restarting struct {
	*counters
	notify func()
}

// HealthChecks implements Upstream.
func (r *restarting) HealthChecks(ctx context.Context) ([]byte, error) {
	checks, err := r.counters.HealthChecks(ctx)
	if r.notify != nil {
		r.checks += "[+]etcd-override-0 ok\n"
		r.notify()
		r.notify = nil
	}
	return checks, err
}

// A response from before a restart of the upstream is not used, even if it arrives after the restart.
func TestLayoutIsReadAgainAfterInterruption(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		upstream := &restarting{counters: &counters{minor: "37", checks: "[+]etcd ok\n"}}
		l := newLayout(upstream)
		upstream.notify = l.forget
		for range 2 {
			if one, err := l.oneEtcd(t.Context()); one || err != nil {
				t.Errorf("got one etcd: %t, %v, want false", one, err)
			}
		}
	})
}
