package facade

import (
	"errors"

	"github.com/listfacade/listfacade/handlers"
)

// checks are the conditions of health. Only readiness depends on the upstream: a restart of the facade would not mend
// it. And it depends on what the upstream has said since the start, not on whether it is heard now: all replicas ask
// the same one, so an outage would take them all out of their Service at once, and with them what the cache may still
// serve. When --max-staleness is over, reads are answered 503 with a reason and Retry-After, which tells a client more
// than a connection that is refused, and the first reads after the outage find their replicas in place.
func (f *Facade) checks() []handlers.Check {
	alive := []string{"healthz", "livez", "readyz"}
	ready := []string{"readyz"}
	checks := []handlers.Check{
		{Name: "ping", Probes: alive, Healthy: func() error { return nil }},
		{Name: "discovery", Probes: ready, Healthy: func() error {
			if !f.catalog.Known() {
				return errors.New("the upstream's discovery was not read yet")
			}
			return nil
		}},
		{Name: "preload", Probes: ready, Healthy: func() error {
			if !f.preload.synced.Load() {
				return errors.New("not every preloaded resource is synced")
			}
			return nil
		}, Progress: f.preload.progress},
		{Name: "shutdown", Probes: ready, Healthy: f.shutdown.asked.Err},
	}
	if f.access.reviewable != nil {
		checks = append(checks, handlers.Check{Name: "authorization", Probes: ready, Healthy: f.access.reviewable.healthy})
	}
	return checks
}
