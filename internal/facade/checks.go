package facade

import (
	"errors"

	"github.com/listfacade/listfacade/handlers"
)

// checks returns the health checks. Liveness does not depend on the upstream, because a restart of the facade would not
// fix the upstream. Readiness requires that the start has succeeded, but not that the upstream answers now. If
// readiness required a working upstream, an outage would remove all replicas from their Service at the same time.
// Clients would then lose the reads that the cache may still serve. If the outage lasts longer than --max-staleness,
// reads receive 503 with a reason and Retry-After, which is better than a refused connection.
func (f *Facade) checks() []handlers.Check {
	alive := []string{"healthz", "livez", "readyz"}
	ready := []string{"readyz"}
	checks := []handlers.Check{
		{Name: "ping", Probes: alive, Healthy: func() error { return nil }},
		{Name: "discovery", Probes: ready, Healthy: func() error {
			if !f.catalog.Known() {
				return errors.New("the upstream's discovery has not been read yet")
			}
			return nil
		}},
		{Name: "preload", Probes: ready, Healthy: func() error {
			if !f.preload.synced.Load() {
				return errors.New("not all preloaded resources are synced")
			}
			return nil
		}, Progress: f.preload.progress},
		{Name: "shutdown", Probes: ready, Healthy: f.shutdown.begun.Err},
	}
	if f.access.reviewable != nil {
		checks = append(checks, handlers.Check{Name: "authorization", Probes: ready, Healthy: f.access.reviewable.healthy})
	}
	return checks
}
