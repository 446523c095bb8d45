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
	// auditEvery is the maximum interval at which the auditor looks for a due page.
	auditEvery = time.Second
	// auditShare is the default of Config.SelfAuditShare. The pause after each page limits the cost.
	auditShare = 20
	// auditSlow is the maximum duration of a page from an upstream that is not overloaded. Most pages take about 100 ms.
	auditSlow = 5 * time.Second
	// auditPause is the first pause for an overloaded upstream. Each further pause is twice as long, up to auditLongest.
	auditPause   = time.Minute
	auditLongest = time.Hour
	// auditConfirm is the time after which a page with differences is read again.
	auditConfirm = 5 * time.Second
	// auditLooks is how many reads of a page may differ, each in other objects. If a further read differs, all its
	// differences count.
	auditLooks = 3
)

// Results of a page of the self-audit.
const (
	pageSame      = "same"
	pageDifferent = "different" // confirmed by a second read
	pageDoubtful  = "doubtful"  // differs once; read again
	pageUnsure    = "unsure"    // not comparable: version not available, upstream replaced, or lane listed again
	pageFailed    = "failed"
)

// selfAuditMetrics counts the results of the self-audit.
type selfAuditMetrics interface {
	// SelfAudited counts a page and the number of objects compared in it.
	SelfAudited(gvr schema.GroupVersionResource, encoding, result string, objects int)
	// SelfAuditPassed counts a complete pass over a lane.
	SelfAuditPassed(gvr schema.GroupVersionResource, encoding string)
	// SelfAuditDiffered counts an object that differs from the upstream's.
	SelfAuditDiffered(gvr schema.GroupVersionResource, encoding, kind string)
	// SelfAuditRelisted counts a lane that is listed again because of a difference.
	SelfAuditRelisted(gvr schema.GroupVersionResource, encoding string)
}

// auditor compares each lane with the upstream once per interval, page by page (docs/adr/0023-self-audit.md).
// Only one goroutine may use it.
type auditor struct {
	lanes    *Lanes
	interval time.Duration
	share    int // Config.SelfAuditShare
	courses  map[*Reflector]*course
	until    time.Time // the upstream is not read before this time
	pause    time.Duration
}

// course is the progress of the self-audit in one lane.
type course struct {
	after           string // last key of the previous page; empty at the beginning
	due             time.Time
	limit           int             // maximum number of objects of a page; below auditObjects if pages were too large
	rowless         bool            // whether rows are skipped, because the upstream sorts them differently from objects
	doubtful        map[string]bool // keys that differed in the last read of the page
	looks           int             // number of reads in which the page differed
	columnsDiffered int             // number of reads in which the columns differed

	objects, columns brake
	reprinted        *listWatch // the lane's listWatch while differing columns are ignored; nil otherwise
}

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

// next returns the lane whose page is due first. It returns nil if no page is due or the upstream must not be read now.
func (a *auditor) next(now time.Time) (next *Reflector) {
	running, listing := map[*Reflector]*course{}, false
	for _, r := range a.lanes.All() {
		listing = listing || r.fill.listing()
		c := a.courses[r]
		if c == nil && r.synced.Load() == nil {
			continue // the number of the lane's pages is unknown
		}
		if c == nil {
			// The first pages of lanes that started at the same time are spread over the page interval.
			c = &course{limit: auditObjects, objects: brake{pause: relistPause}, columns: brake{pause: relistPause}}
			c.due = now.Add(time.Duration((0.1 + 0.9*rand.Float64()) * float64(a.pageInterval(r, c))))
		}
		running[r] = c
		if !c.due.After(now) && (next == nil || c.due.Before(running[next].due)) {
			next = r
		}
	}
	a.courses = running // drops the courses of stopped lanes
	if listing || now.Before(a.until) || a.lanes.client.Silent() > 0 {
		return nil
	}
	return next
}

func (a *auditor) wait(now time.Time) time.Duration {
	wait := auditEvery
	for _, c := range a.courses {
		if c.due.After(now) {
			wait = min(wait, c.due.Sub(now))
		}
	}
	return wait
}

func (a *auditor) pageInterval(r *Reflector, c *course) time.Duration {
	pages := 1 + r.Cache.Stats().Objects/c.size(r)
	return a.interval / time.Duration(pages)
}

func (c *course) size(r *Reflector) int {
	stats := r.Cache.Stats()
	if stats.ObjectBytes == 0 {
		return c.limit
	}
	return max(1, min(c.limit, int(auditBytes*int64(stats.Objects)/stats.ObjectBytes)))
}

// readsNoRows reports whether the next page is read without rows. If the upstream's columns differed and the brake
// prevented a relist, rows are skipped until the lane is listed or the brake allows a relist.
func (c *course) readsNoRows(by *listWatch) bool {
	if c.reprinted != by || c.columns.mayRelist() {
		c.reprinted = nil
	}
	c.columns.differed = c.columns.differed || c.reprinted != nil
	return c.rowless || c.reprinted != nil
}

func (a *auditor) look(ctx context.Context, r *Reflector, c *course) {
	by, began := r.synced.Load(), time.Now()
	c.due = began.Add(max(a.pageInterval(r, c), time.Millisecond))
	state, err := r.Cache.State()
	if by == nil || err != nil || r.StaleFor() > 0 || !a.lanes.memory.Spares(auditMemory) {
		c.due = began.Add(min(a.pageInterval(r, c), time.Minute))
		return
	}
	p := &auditPage{reflector: r, by: by, state: state, after: c.after, limit: c.size(r), rowless: c.readsNoRows(by)}
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

// leave pauses the self-audit because the upstream is overloaded. The pause is at least atLeast.
func (a *auditor) leave(atLeast time.Duration) {
	a.pause = min(max(2*a.pause, auditPause), auditLongest)
	if until := time.Now().Add(max(a.pause, atLeast)); until.After(a.until) {
		a.until = until
	}
}

func (a *auditor) count(r *Reflector, result string, objects int) {
	a.lanes.metrics.SelfAudited(r.Resource.GVR, r.Encoding.Name(), result, objects)
}

func newAuditor(l *Lanes) *auditor {
	if l.config.SelfAudit <= 0 {
		return nil
	}
	return &auditor{lanes: l, interval: l.config.SelfAudit, share: cmp.Or(l.config.SelfAuditShare, auditShare)}
}

func styleOf(r upstream.Resource) upstream.ContinueStyle {
	if r.ReadFromEtcd() {
		return upstream.EtcdStyle
	}
	return upstream.CacheStyle
}
