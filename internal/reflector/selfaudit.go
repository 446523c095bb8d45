package reflector

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/listfacade/listfacade/internal/upstream"
)

const (
	// auditEvery is how often it is looked at least whether a page is due.
	auditEvery = time.Second
	// auditShare bounds the price, whatever the interval: a page that took so long is followed by a pause of at least
	// so many times as much, over all lanes.
	auditShare = 20
	// auditSlow is how long a page may take, which takes some 100 ms, from an upstream that has time for it.
	auditSlow = 5 * time.Second
	// auditPause is how long an upstream is left alone at first that has none; it doubles up to auditLongest.
	auditPause   = time.Minute
	auditLongest = time.Hour
	// auditConfirm is after how long it is looked again at what differs.
	auditConfirm = 5 * time.Second
	// auditLooks is how often a page may differ in other objects each time before that counts as well.
	auditLooks = 3
)

// What becomes of a page of the self-audit.
const (
	pageSame      = "same"
	pageDifferent = "different" // twice
	pageDoubtful  = "doubtful"  // once: it is looked at again
	pageUnsure    = "unsure"    // the upstream did not have the version, or was replaced, or the lane was listed again
	pageFailed    = "failed"
)

// selfAuditMetrics is what the self-audit reports of a lane.
type selfAuditMetrics interface {
	// SelfAudited counts a page with so many objects that was looked at.
	SelfAudited(gvr schema.GroupVersionResource, encoding, result string, objects int)
	// SelfAuditPassed counts that all pages were.
	SelfAuditPassed(gvr schema.GroupVersionResource, encoding string)
	// SelfAuditDiffered counts an object that is not as the upstream has it.
	SelfAuditDiffered(gvr schema.GroupVersionResource, encoding, kind string)
	// SelfAuditMended counts that the lane is listed again for that.
	SelfAuditMended(gvr schema.GroupVersionResource, encoding string)
}

// auditor compares the lanes with the upstream, page by page, over and over again, so that each lane is through once in
// an interval (docs/adr/0023-lanes-are-audited.md). Used by one goroutine.
type auditor struct {
	lanes    *Lanes
	interval time.Duration
	share    int // see auditShare
	courses  map[*Reflector]*course
	until    time.Time // until when the upstream is left alone
	pause    time.Duration
}

// course is where the audit of one lane is.
type course struct {
	behind   string // the key that the next page begins behind; empty at the beginning
	due      time.Time
	limit    int             // objects of a page at most; less than auditObjects when pages were too large
	rowless  bool            // the upstream's rows are not in the order of its objects
	doubtful map[string]bool // keys that differed when the page was looked at before
	looks    int             // how often it differed so
	prints   int             // how often the upstream had other columns than the lane then

	objects, columns brake
	reprinted        *listWatch // the lane's, if the upstream has other columns, for which it is not listed again now
}

// run audits until the context ends.
func (a *auditor) run(ctx context.Context) {
	for ctx.Err() == nil {
		now := time.Now()
		if r := a.next(now); r != nil {
			a.look(ctx, r, a.courses[r])
			continue
		}
		timer := time.NewTimer(a.wait(now))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// next is a lane of which a page is due; nil when there is none, or the upstream is not to be asked now.
func (a *auditor) next(now time.Time) (next *Reflector) {
	running, listing := map[*Reflector]*course{}, false
	for _, r := range a.lanes.All() {
		c := a.courses[r]
		if c == nil {
			// Lanes that started together do not go on together.
			c = &course{limit: auditObjects, objects: brake{pause: auditMend}, columns: brake{pause: auditMend}}
			c.due = now.Add(time.Duration((0.1 + 0.9*rand.Float64()) * float64(a.lostWindow(r, c))))
		}
		running[r] = c
		listing = listing || r.fill.listing()
		if !c.due.After(now) && (next == nil || c.due.Before(running[next].due)) {
			next = r
		}
	}
	a.courses = running // those of lanes that are gone go along
	if listing || now.Before(a.until) || a.lanes.client.Silent() > 0 {
		return nil
	}
	return next
}

// wait is how long nothing is due.
func (a *auditor) wait(now time.Time) time.Duration {
	wait := auditEvery
	for _, c := range a.courses {
		if c.due.After(now) {
			wait = min(wait, c.due.Sub(now))
		}
	}
	return wait
}

// gap is the time between two pages of a lane.
func (a *auditor) lostWindow(r *Reflector, c *course) time.Duration {
	pages := 1 + r.Cache.Stats().Objects/c.size(r)
	return a.interval / time.Duration(pages)
}

// size is how many objects the next page has.
func (c *course) size(r *Reflector) int {
	stats := r.Cache.Stats()
	if stats.ObjectBytes == 0 {
		return c.limit
	}
	return max(1, min(c.limit, int(auditBytes*int64(stats.Objects)/stats.ObjectBytes)))
}

// readsNoRows tells whether the next page is one of objects alone. Where the upstream's columns are others than the
// lane's, rows are read again when the lane may be listed again for them, or was.
func (c *course) readsNoRows(by *listWatch) bool {
	if c.reprinted != by || c.columns.mayMend() {
		c.reprinted = nil
	}
	c.columns.differed = c.columns.differed || c.reprinted != nil
	return c.rowless || c.reprinted != nil
}

// look looks at the next page of a lane, and says when it is the next one's turn.
func (a *auditor) look(ctx context.Context, r *Reflector, c *course) {
	by, began := r.writer.synced.Load(), time.Now()
	c.due = began.Add(max(a.lostWindow(r, c), time.Millisecond))
	state, err := r.Cache.State()
	if by == nil || err != nil || r.StaleFor() > 0 || !a.lanes.memory.Spares(auditMemory) {
		c.due = began.Add(min(a.lostWindow(r, c), time.Minute))
		return
	}
	p := &auditPage{reflector: r, by: by, state: state, behind: c.behind, limit: c.size(r), rowless: c.readsNoRows(by)}
	err = p.read(ctx, a.lanes.client)
	if ctx.Err() != nil {
		return
	}
	took := time.Since(began)
	a.until = time.Now().Add(time.Duration(a.share) * took)
	if err != nil {
		a.fails(ctx, r, c, p, err)
		return
	}
	if took > auditSlow {
		a.leave(0)
	} else {
		a.pause = 0
	}
	a.judge(ctx, r, c, p)
}

// leave leaves the upstream alone for a while, at least as long as it has asked to be.
func (a *auditor) leave(atLeast time.Duration) {
	a.pause = min(max(2*a.pause, auditPause), auditLongest)
	if until := time.Now().Add(max(a.pause, atLeast)); until.After(a.until) {
		a.until = until
	}
}

func (a *auditor) tell(r *Reflector, result string, objects int) {
	a.lanes.metrics.SelfAudited(r.Resource.GVR, r.Encoding.Name(), result, objects)
}

// newAuditor is an auditor that has not begun; nil when there is to be none.
func newAuditor(l *Lanes) *auditor {
	if l.config.SelfAudit <= 0 {
		return nil
	}
	return &auditor{lanes: l, interval: l.config.SelfAudit, share: cmp.Or(l.config.SelfAuditShare, auditShare)}
}

// styleOf is how the upstream writes its continue tokens.
func styleOf(r upstream.Resource) upstream.ContinueStyle {
	if r.ReadFromEtcd() {
		return upstream.EtcdStyle
	}
	return upstream.CacheStyle
}
