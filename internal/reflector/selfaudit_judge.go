package reflector

import (
	"context"
	"errors"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/divergence"
	"github.com/listfacade/listfacade/internal/fresh"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// auditLogged is the maximum number of differing objects of a page that are logged. All are counted.
const auditLogged = 5

func (a *auditor) fails(ctx context.Context, r *Reflector, c *course, p *auditPage, err error) {
	var oversize *upstream.OversizeError
	switch {
	case errors.Is(err, errReprinted):
		a.reprints(ctx, r, c, p)
		return
	case errors.Is(err, wire.ErrUnaligned) && !c.rowless:
		c.rowless, c.due = true, time.Now()
		return
	case errors.As(err, &oversize) && c.limit > 1:
		c.limit, c.due = max(c.size(r)/8, 1), time.Now()
		return
	case isLost(err):
		a.count(r, pageUnsure, 0)
		a.renew(ctx, r, c, p.state.RV())
		return
	case upstream.HasCode(err, http.StatusGatewayTimeout):
		a.count(r, pageUnsure, 0) // the server has not reached the version, or is not the server of the lane's watch
		return
	}
	var status *upstream.StatusError
	if !errors.As(err, &status) || status.Code == http.StatusTooManyRequests ||
		status.Code >= http.StatusInternalServerError {
		a.leave(retryAfter(err))
	}
	a.count(r, pageFailed, 0)
	r.log.Info("Self-audit failed to compare the lane", zap.Error(err))
}

// renew brings a lane to a current version after the upstream has compacted the lane's version. Then renew makes the
// page due again. Without renew, an idle lane of a resource without bookmarks, such as events, would stay at its
// version.
func (a *auditor) renew(ctx context.Context, r *Reflector, c *course, forgotten cache.RV) {
	ctx, cancel := context.WithTimeout(ctx, auditSlow)
	defer cancel()
	state, _, err := r.Recent(ctx, time.Now(), fresh.Endless())
	if err == nil && state.RV() > forgotten {
		c.due = time.Now()
	}
}

// reprints handles columns of the upstream that differ from the lane's. The lane's watch shows new columns only after
// the next change. The difference counts if a second read confirms it. The lane is not listed again if an earlier
// relist did not help, because kube-apiservers behind one address may have different columns. Until the next relist,
// objects are compared without rows.
func (a *auditor) reprints(ctx context.Context, r *Reflector, c *course, p *auditPage) {
	if r.synced.Load() != p.by {
		a.count(r, pageUnsure, 0)
		return
	}
	if c.columnsDiffered == 0 {
		c.columnsDiffered++
		c.due = time.Now().Add(min(auditConfirm, a.interval))
		a.count(r, pageDoubtful, 0)
		return
	}
	c.settles()
	if !a.hasVersionOf(ctx, r) {
		a.count(r, pageUnsure, 0)
		return
	}
	a.count(r, pageDifferent, 0)
	relisted := a.relists(r, c, &c.columns, errReprinted)
	c.columns.differed = true
	if !relisted {
		c.reprinted = p.by
	}
	r.log.Warn("Self-audit found that the upstream's Table columns differ from the lane's",
		zap.Bool("listedAgain", relisted))
	if !relisted {
		c.due = time.Now() // so that the objects of this page are compared again, without rows
	}
}

// judge handles a page that was compared. A difference in a single read does not count. It may have another cause: an
// upgrade of kube-apiserver or a changed definition, after which the lane's watch ends soon.
func (a *auditor) judge(ctx context.Context, r *Reflector, c *course, p *auditPage) {
	if r.synced.Load() != p.by {
		a.count(r, pageUnsure, 0)
		return
	}
	again := c.again(p.differences)
	switch {
	case len(p.differences) == 0:
		a.passes(r, c, p)
	case len(again) == 0:
		c.doubts(p.differences)
		c.due = time.Now().Add(min(auditConfirm, a.interval))
		a.count(r, pageDoubtful, p.compared.Objects)
	case !a.hasVersionOf(ctx, r):
		c.settles()
		a.count(r, pageUnsure, p.compared.Objects)
	default:
		a.differs(r, c, p, again)
	}
}

// again returns the differences that count: those in objects that also differed in the previous read. After auditLooks
// reads with differences, all differences count.
func (c *course) again(differences []divergence.Difference) (again []divergence.Difference) {
	if c.looks >= auditLooks {
		return differences
	}
	for _, d := range differences {
		if c.doubtful[d.Key] {
			again = append(again, d)
		}
	}
	return again
}

func (c *course) doubts(differences []divergence.Difference) {
	c.doubtful = map[string]bool{}
	for _, d := range differences {
		c.doubtful[d.Key] = true
	}
	c.looks++
	c.columnsDiffered = 0 // the columns matched this time
}

func (c *course) settles() { c.doubtful, c.looks, c.columnsDiffered = nil, 0, 0 }

func (a *auditor) passes(r *Reflector, c *course, p *auditPage) {
	if len(c.doubtful) > 0 {
		r.log.Info("Self-audit difference not confirmed by another read", zap.Int("objects", len(c.doubtful)))
	}
	c.settles()
	c.after = p.next
	a.count(r, pageSame, p.compared.Objects)
	a.ends(r, c)
}

// ends records the end of a pass after its last page.
func (a *auditor) ends(r *Reflector, c *course) {
	if c.after != "" {
		return
	}
	if !c.objects.differed {
		if found := r.found.Load(); found != nil && !found.Relisted {
			r.found.Store(nil)
		}
	}
	c.objects.ends()
	c.columns.ends()
	passed := time.Now()
	r.passed.Store(&passed)
	a.lanes.metrics.SelfAuditPassed(r.Resource.GVR, r.Encoding.Name())
}

// differs logs and counts differences. It lists the lane again, unless an earlier relist did not help.
func (a *auditor) differs(r *Reflector, c *course, p *auditPage, differences []divergence.Difference) {
	log := r.log.With(zap.Stringer("at", p.state.RV()))
	for i, d := range differences {
		a.lanes.metrics.SelfAuditDiffered(r.Resource.GVR, r.Encoding.Name(), string(d.Kind))
		if i < auditLogged {
			log.Warn("Self-audit found an object that differs from the upstream", zap.Stringer("difference", d))
		}
	}
	a.count(r, pageDifferent, p.compared.Objects)
	c.settles()
	c.objects.differed = true
	relisted := a.relists(r, c, &c.objects, errAudited)
	r.found.Store(&Finding{At: time.Now(), Objects: len(differences), Relisted: relisted})
	log.Warn("Self-audit found that the lane differs from the upstream", zap.Int("objects", len(differences)),
		zap.Bool("listedAgain", relisted))
	if !relisted {
		c.after = p.next
		a.ends(r, c)
	}
}

// relists makes the writer list the lane again, unless the brake prevents it. After a relist, the page is read again.
func (a *auditor) relists(r *Reflector, c *course, b *brake, reason error) bool {
	if !b.mayRelist() {
		return false
	}
	b.relists()
	c.due = time.Now().Add(min(auditConfirm, a.interval))
	a.lanes.metrics.SelfAuditRelisted(r.Resource.GVR, r.Encoding.Name())
	r.contradict(reason)
	return true
}

// hasVersionOf reports whether kube-apiserver has the same version as when the lane was listed.
func (a *auditor) hasVersionOf(ctx context.Context, r *Reflector) bool {
	listed, known := r.origin.Load().now()
	return known && a.lanes.versions.since(ctx, time.Now()) == listed
}
