package facade

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/listfacade/listfacade/internal/observe"
	"github.com/listfacade/listfacade/internal/page"
	"github.com/listfacade/listfacade/internal/reflector"
	"github.com/listfacade/listfacade/internal/zpages"
)

// Limits of the operator's page. Paths below /debug list more clients, open requests and watches.
const (
	shownClients  = 12
	shownOpen     = 20
	shownSlow     = 20
	lookedAt      = 100 // number of watches that are examined for lag
	mostOfAReason = 512 // maximum length of an error, in bytes
)

// status returns the source of the operator's page. config is the configuration of the upstream.
func (f *Facade) status(config *rest.Config) page.Source {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	process := page.Process{Name: name, Version: cmp.Or(f.config.Version, "devel"), Started: f.started}
	return func(by page.Orders) *page.Status {
		s := &page.Status{
			At: time.Now(), Process: process, Repository: f.config.Repository, Lanes: f.laneStatus(),
			Clients: f.clients.Top(by.Clients, page.Window, shownClients),
			Watches: f.inflight.Watches(by.Watches, shownOpen), Behind: f.inflight.Watches("lag", lookedAt).Items,
			Requests: f.inflight.Requests(by.Requests, shownOpen), Slow: f.slow.Recent(by.Slow, shownSlow),
			Saved:  f.metrics.Saved(),
			Memory: f.memoryStatus(), Upstream: f.upstreamStatus(), Health: f.health(), History: f.history.Moments(),
			Bounds: page.Bounds{MaxStaleness: f.config.MaxStaleness, SlowWatchLag: f.config.Slow.WatchLag,
				SlowRequest: f.config.Slow.Request, SelfAudit: f.config.SelfAuditInterval},
		}
		if j, configured := f.lanes.JournalStatus(); configured {
			s.Journal = &page.Journal{
				Dir: f.config.JournalDir, Open: j.Open, LagSeconds: j.Lag.Seconds(), Bytes: j.Bytes, Over: j.Over,
			}
		}
		s.Process.Leaving, s.Process.Draining = f.shutdown.begun.Err() != nil, f.shutdown.draining.Err() != nil
		if f.config.Level != nil {
			s.Process.LogLevel = f.config.Level.Now().Level.String()
		}
		for _, c := range f.certificates(config) {
			s.Certificates = append(s.Certificates, page.Certificate(c))
		}
		if f.access.trust != nil {
			s.Untrusted = f.access.trust.Problem()
		}
		return s
	}
}

// zpages returns the page /statusz and, if Config.Flags is set, the page /flagz.
func (f *Facade) zpages() []*zpages.Page {
	process := zpages.Process{
		Version: cmp.Or(f.config.Version, "devel"), Started: f.started,
		Paths: []string{"/debug", "/healthz", "/livez", "/metrics", "/readyz", zpages.StatuszPath, "/version"},
	}
	if f.config.Flags == nil {
		return []*zpages.Page{zpages.Statusz(process)}
	}
	process.Paths = append(process.Paths, zpages.FlagzPath)
	return []*zpages.Page{zpages.Statusz(process), zpages.Flagz(f.config.Flags)}
}

func (f *Facade) health() (all []page.Check) {
	for _, check := range f.checks() {
		if !slices.Contains(check.Probes, "readyz") {
			continue
		}
		shown := page.Check{Name: check.Name}
		if err := check.Healthy(); err != nil {
			shown.Error = reason(err)
		}
		if shown.Error != "" && check.Progress != nil {
			if progress := check.Progress(); progress != "" {
				shown.Error += " (" + progress + ")"
			}
		}
		all = append(all, shown)
	}
	return all
}

func (f *Facade) upstreamStatus() page.Upstream {
	u := page.Upstream{
		Endpoint: f.client.Host(), Endpoints: f.endpointStates(), SilentSeconds: f.client.Silent().Seconds(),
		LastFailure: f.history.LastFailure(),
		Questions:   f.history.Questions(page.Window),
	}
	for _, one := range u.Endpoints {
		if one.InUse {
			u.Endpoint = one.Host
		}
	}
	if trouble := f.client.Trouble(); trouble != nil {
		u.LastError, u.LastErrorAt = reason(trouble.Err), trouble.At
	}
	return u
}

func (f *Facade) memoryStatus() page.Memory {
	s := f.memoryStats()
	m := page.Memory{Budget: s.Budget, Used: s.Used, Mapped: s.Mapped, Refused: s.Refused, Relieved: s.Relieved}
	for name, bytes := range s.Accounted {
		m.Kinds = append(m.Kinds, page.Kind{Name: name, Bytes: bytes})
	}
	slices.SortFunc(m.Kinds, func(a, b page.Kind) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

func (f *Facade) laneStatus() []page.Lane {
	all := []page.Lane{}
	for _, r := range f.lanes.All() {
		all = append(all, f.laneOf(r))
	}
	slices.SortFunc(all, func(a, b page.Lane) int {
		return cmp.Or(strings.Compare(a.Name(), b.Name()), strings.Compare(a.Version, b.Version),
			strings.Compare(a.Encoding, b.Encoding))
	})
	return all
}

func (f *Facade) laneOf(r *reflector.Reflector) page.Lane {
	s, gvr := r.Cache.Stats(), r.Resource.GVR
	l := page.Lane{
		Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource, Encoding: r.Encoding.Name(),
		AgeSeconds: time.Since(r.Began()).Seconds(),
		Objects:    s.Objects, Bytes: s.ObjectBytes, Memory: s.Memory() + r.PageBytes(), ResourceVersion: uint64(s.RV),
		LastEventSeconds: -1,
		StaleSeconds:     r.StaleFor().Seconds(), Watches: int(s.Watchers), LagEvents: s.Lag, Expired: s.Expired,
	}
	if last, known := r.LastEvent(); known {
		l.LastEventSeconds = last.Seconds()
	}
	l.Relists, l.LastRelist = f.history.Relists(gvr.Group, gvr.Resource)
	progress, listing := r.Progress()
	if listing {
		l.Filled, l.Expected, l.LeftSeconds = progress.Objects, progress.Expected, progress.Left.Seconds()
	}
	l.AuditAgeSeconds = r.Unaudited().Seconds()
	if found := r.Found(); found != nil {
		l.Differed = &page.Difference{At: found.At, Objects: found.Objects, Relisted: found.Relisted}
	}
	l.State, l.Why = stateOf(r, listing)
	return l
}

// stateOf returns a lane's state, and the reason unless the lane is synced.
func stateOf(r *reflector.Reflector, listing bool) (page.State, string) {
	_, unsynced := r.Cache.State()
	failure, why := r.Failure(), ""
	if failure != nil {
		why = reason(failure.Err)
	}
	switch {
	case failure != nil && failure.NoMemory():
		return page.NoMemory, why
	case failure != nil && failure.Refused:
		return page.Refused, why
	case unsynced != nil && failure != nil && !listing:
		return page.Failing, why
	case unsynced != nil:
		return page.Syncing, why
	case listing:
		return page.Relisting, why
	case r.StaleFor() > 0:
		return page.Stale, why
	}
	return page.Synced, ""
}

func reason(err error) string { return observe.Printable(err.Error(), mostOfAReason) }
