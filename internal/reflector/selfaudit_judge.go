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

// auditLogged is how many objects of a page are logged that differ; the others are counted.
const auditLogged = 5

// fails says what follows when a page could not be read.
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
		a.tell(r, pageUnsure, 0)
		a.renew(ctx, r, c, p.state.RV())
		return
	case upstream.HasCode(err, http.StatusGatewayTimeout):
		a.tell(r, pageUnsure, 0) // it is late, or another server than that of the lane's watch
		return
	}
	var status *upstream.StatusError
	if !errors.As(err, &status) || status.Code == http.StatusTooManyRequests || status.Code >= http.StatusInternalServerError {
		a.leave(retryAfter(err))
	}
	a.tell(r, pageFailed, 0)
	r.writer.log.Info("the self-audit cannot compare the lane now", zap.Error(err))
}

// renew proves a lane fresh whose version the upstream has forgotten, and has the page looked at again at the version
// of the proof. An idle lane of a resource without bookmarks, as events, would stay at the forgotten version.
func (a *auditor) renew(ctx context.Context, r *Reflector, c *course, forgotten cache.RV) {
	ctx, cancel := context.WithTimeout(ctx, auditSlow)
	defer cancel()
	state, _, err := r.Recent(ctx, time.Now(), fresh.Endless())
	if err == nil && state.RV() > forgotten {
		c.due = time.Now()
	}
}

// reprints says what follows when the upstream prints the resource with other columns than the lane has, which the
// lane's watch is not told before something changes. As with what differs, that counts when it is so again a little
// later, and does not have the lane listed again where that has not helped before: of several kube-apiservers, each may
// print in its own way. Until then objects are compared without their rows.
func (a *auditor) reprints(ctx context.Context, r *Reflector, c *course, p *auditPage) {
	if r.writer.synced.Load() != p.by {
		a.tell(r, pageUnsure, 0)
		return
	}
	if c.prints == 0 {
		c.prints++
		c.due = time.Now().Add(min(auditConfirm, a.interval))
		a.tell(r, pageDoubtful, 0)
		return
	}
	c.settles()
	if !r.writer.isListedFrom(ctx) {
		a.tell(r, pageUnsure, 0)
		return
	}
	a.tell(r, pageDifferent, 0)
	mended := a.mends(r, c, &c.columns, errReprinted)
	c.columns.differed = true
	if !mended {
		c.reprinted = p.by
	}
	r.writer.log.Warn("the self-audit found that the upstream prints other columns than the lane has", zap.Bool("listedAgain", mended))
	if !mended {
		c.due = time.Now() // for the objects of this page
	}
}

// judge says what follows from a page that was compared. What differs counts when it differs again a little later, at
// another exact version: kube-apiserver may be replaced by another version, or a definition be changed, between the
// lane's events and the page, and the lane's watch ends a moment after that.
func (a *auditor) judge(ctx context.Context, r *Reflector, c *course, p *auditPage) {
	if r.writer.synced.Load() != p.by {
		a.tell(r, pageUnsure, 0)
		return
	}
	again := c.again(p.differences)
	switch {
	case len(p.differences) == 0:
		a.passes(r, c, p)
	case len(again) == 0:
		c.doubts(p.differences)
		c.due = time.Now().Add(min(auditConfirm, a.interval))
		a.tell(r, pageDoubtful, p.compared.Objects)
	case !r.writer.isListedFrom(ctx):
		c.settles()
		a.tell(r, pageUnsure, p.compared.Objects)
	default:
		a.differs(r, c, p, again)
	}
}

// again are those of the differences that count: of objects that differed before, or all where something differs each
// time.
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

// doubts notes what differs, to look at it again.
func (c *course) doubts(differences []divergence.Difference) {
	c.doubtful = map[string]bool{}
	for _, d := range differences {
		c.doubtful[d.Key] = true
	}
	c.looks++
	c.prints = 0 // its columns were as they should be
}

// settles forgets what was to be looked at again.
func (c *course) settles() { c.doubtful, c.looks, c.prints = nil, 0, 0 }

// passes goes on to the next page.
func (a *auditor) passes(r *Reflector, c *course, p *auditPage) {
	if len(c.doubtful) > 0 {
		r.writer.log.Info("what the self-audit found different once is the same now", zap.Int("objects", len(c.doubtful)))
	}
	c.settles()
	c.behind = p.next
	a.tell(r, pageSame, p.compared.Objects)
	a.ends(r, c)
}

// ends tells that the pass is over, if that was its last page.
func (a *auditor) ends(r *Reflector, c *course) {
	if c.behind != "" {
		return
	}
	if !c.objects.differed {
		if found := r.found.Load(); found != nil && !found.Mended {
			r.found.Store(nil)
		}
	}
	c.objects.ends()
	c.columns.ends()
	passed := time.Now()
	r.passed.Store(&passed)
	a.lanes.metrics.SelfAuditPassed(r.Resource.GVR, r.Encoding.Name())
}

// differs tells what differs, and has the lane listed again unless that has not helped before. The page is looked at
// again when it was.
func (a *auditor) differs(r *Reflector, c *course, p *auditPage, differences []divergence.Difference) {
	log := r.writer.log.With(zap.Stringer("at", p.state.RV()))
	for i, d := range differences {
		a.lanes.metrics.SelfAuditDiffered(r.Resource.GVR, r.Encoding.Name(), string(d.Kind))
		if i < auditLogged {
			log.Warn("the self-audit found an object that is not as the upstream has it", zap.Stringer("difference", d))
		}
	}
	a.tell(r, pageDifferent, p.compared.Objects)
	c.settles()
	c.objects.differed = true
	mended := a.mends(r, c, &c.objects, errAudited)
	r.found.Store(&Finding{At: time.Now(), Objects: len(differences), Mended: mended})
	log.Warn("the self-audit found that the lane is not what the upstream has", zap.Int("objects", len(differences)), zap.Bool("listedAgain", mended))
	if !mended {
		c.behind = p.next
		a.ends(r, c)
	}
}

// mends has the lane listed again, unless it was for the same reason not long ago. The page is looked at again then.
func (a *auditor) mends(r *Reflector, c *course, b *brake, why error) bool {
	if !b.mayMend() {
		return false
	}
	b.mends()
	c.due = time.Now().Add(min(auditConfirm, a.interval))
	a.lanes.metrics.SelfAuditMended(r.Resource.GVR, r.Encoding.Name())
	r.writer.contradict(why)
	return true
}

// isListedFrom tells whether the upstream is of the version that the lane was listed from.
func (w *writer) isListedFrom(ctx context.Context) bool {
	listed, known := w.origin.Load().now()
	return known && w.versions.since(ctx, time.Now()) == listed
}
