package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/net/http2/hpack"
	"golang.org/x/sync/errgroup"

	"github.com/listfacade/listfacade/bench/internal/agents"
	"github.com/listfacade/listfacade/bench/internal/report"
	"github.com/listfacade/listfacade/bench/internal/simulated"
)

// nodeScaleWithin is the timeout of each wait.
const nodeScaleWithin = 4 * time.Minute

// nodeRun is one run of nodeScale with its processes.
type nodeRun struct {
	nodeScale
	upstream *upstream
	facade   *server
	clients  *agents.Fleet // of the facade
	observer *agents.Fleet // one watch of all pods at the upstream
	before   usage         // of the facade without watches
	table    *table
	profiles string // directory; empty: no profiles
}

// prepare creates the clients. All watches begin at the version of one list.
func (r *nodeRun) prepare(ctx context.Context) error {
	pods, err := simulated.NewPods(r.pods, r.watches)
	if err != nil {
		return err
	}
	q, err := r.upstream.watchFrom(ctx, "/api/v1/pods") // for this JSON list, the facade would fill another lane
	if err != nil {
		return err
	}
	version, err := q.version()
	if err != nil {
		return err
	}
	watches := make([]agents.Watch, r.watches)
	for i := range watches {
		watches[i] = agents.Watch{Path: "/api/v1/pods?fieldSelector=spec.nodeName%3D" + pods.Node(i), Version: version}
	}
	encoding := nodeEncodings[r.encoding]
	if r.clients, err = r.facade.fleet(agents.Config{Watches: watches, PerConnection: r.perConnection,
		Encoding: encoding.agents, Stamp: encoding.stamp, Header: callerOf, Openers: nodeOpeners}); err != nil {
		return err
	}
	if r.observer, err = r.upstream.fleet(agents.Config{Watches: []agents.Watch{{Path: "/api/v1/pods?",
		Version: version}}, PerConnection: 1, Encoding: encoding.agents, Stamp: encoding.stamp}); err != nil {
		return err
	}
	r.before, err = r.facade.usage(ctx)
	return err
}

// nodeOpeners is the number of connections that open their watches at the same time. After the cut, all connections
// open their watches at the same time.
const nodeOpeners = 32

// nodeCallers is the number of callers that the watches belong to. With a caller for each connection, the run would
// measure the reviews of tokens, as the scenario auth-agents does.
const nodeCallers = 50

// callerOf returns the header with the token of a connection. The simulated upstream uses the token as the user's name.
// The callers are not anonymous, because the facade closes connections of anonymous callers.
func callerOf(connection int) []hpack.HeaderField {
	return []hpack.HeaderField{{Name: "authorization", Value: fmt.Sprintf("Bearer caller-%d", connection%nodeCallers)}}
}

func (r *nodeRun) row(what, figure string) { r.table.add(what, "", figure, "") }

// await waits until the counts of the clients meet a condition, and returns how long that took.
func (r *nodeRun) await(ctx context.Context, what string, met func(agents.Counts) bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, nodeScaleWithin)
	defer cancel()
	took, err := r.clients.Await(ctx, met)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	say("%s after %s: %+v, refused: %s, failed: %s", what, report.Duration(took), r.clients.Counts(),
		r.clients.Refusals(), r.clients.Failures())
	return took, nil
}

func (r *nodeRun) areOpen(c agents.Counts) bool { return c.Watching == int64(r.watches) }

// open measures the time until all watches are open, and their memory.
func (r *nodeRun) open(ctx context.Context) error {
	before, err := r.spent()
	if err != nil {
		return err
	}
	took, err := r.await(ctx, "all are open", r.areOpen)
	if err != nil {
		return err
	}
	after, err := r.spent()
	if err != nil {
		return err
	}
	r.row("all are open: time", report.Duration(took))
	r.row("all are open: refused / failed", r.clients.Refusals()+" / "+r.clients.Failures())
	r.row("all are open: processors", after.minus(before).String())
	m, err := r.facade.process.Memory()
	if err != nil {
		return err
	}
	r.row("all are open: resident", report.Size(m.Resident))
	u, err := r.facade.usage(ctx)
	if err != nil {
		return err
	}
	each := u.minus(r.before).over(r.watches)
	r.row("all are open: each, heap and stacks / resident", report.Size(each.live)+" / "+report.Size(each.resident))
	if r.profiles == "" {
		return nil
	}
	return r.facade.heapProfile(ctx, filepath.Join(r.profiles, openHeap))
}

// Profiles of the heap. Their difference contains the allocations for the updates (go tool pprof -diff_base).
const openHeap, updatedHeap = "nodes.heap.pprof", "nodes.updated.heap.pprof"

// change changes pods, and measures delays and processor time.
func (r *nodeRun) change(ctx context.Context) error {
	before, err := r.spent()
	if err != nil {
		return err
	}
	group, changing := errgroup.WithContext(ctx)
	if r.profiles != "" {
		group.Go(func() error { return r.facade.profileAfter(changing, r.lasts/2, filepath.Join(r.profiles, "nodes")) })
	}
	if err := r.update(changing); err != nil {
		return err
	}
	if err := group.Wait(); err != nil {
		return err
	}
	after, err := r.spent()
	if err != nil {
		return err
	}
	d := after.minus(before)
	r.row("updates: rate", fmt.Sprintf("%.0f /s", float64(r.count())/d.took.Seconds()))
	r.row("updates: CPU of the facade for each", report.Duration(d.facade/time.Duration(r.count())))
	r.row("updates: processors", d.String())
	r.addDelays("updates")
	m, err := r.facade.process.Memory()
	r.row("updates: resident at the end / peak", report.Size(m.Resident)+" / "+report.Size(m.Peak))
	if err != nil || r.profiles == "" {
		return err
	}
	return r.facade.heapProfile(ctx, filepath.Join(r.profiles, updatedHeap))
}

func (r *nodeRun) count() int { return int(r.lasts.Seconds() * float64(r.updates)) }

// update changes pods, and returns when the events have arrived.
func (r *nodeRun) update(ctx context.Context) error {
	want := r.clients.Counts().Events + int64(r.count())
	err := r.upstream.update(ctx, simulated.Updates{Count: r.count(), Every: time.Second / time.Duration(r.updates),
		Among: r.pods})
	if err != nil {
		return err
	}
	_, err = r.await(ctx, "all events have arrived", func(c agents.Counts) bool { return c.Events >= want || c.Lists > 0 })
	if got := r.clients.Counts(); err == nil && got.Events != want && got.Lists == 0 {
		err = fmt.Errorf("got %d events, want %d", got.Events, want)
	}
	return err
}

// addDelays adds the delays of a simulated kube-apiserver's own watch, and of the facade's watches.
func (r *nodeRun) addDelays(what string) {
	direct, facade := r.observer.Delays(), r.clients.Delays()
	r.table.addTimes(what+": changed until received", direct, facade)
}

// reconnect cuts all connections while pods change, and measures the time until all watches are open again.
func (r *nodeRun) reconnect(ctx context.Context) error {
	before, err := r.spent()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.update(ctx) })
	refused, failed := r.clients.Refusals(), r.clients.Failures()
	lists := r.clients.Counts().Lists
	r.clients.Cut()
	began := time.Now()
	if _, err := r.await(ctx, "all clients have noticed the cut", func(c agents.Counts) bool {
		return c.Watching < int64(r.watches)/2
	}); err != nil {
		return err
	}
	if _, err := r.await(ctx, "all are open again", r.areOpen); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := r.spent()
	if err != nil {
		return err
	}
	if err := group.Wait(); err != nil {
		return err
	}
	r.row("all connections are cut, and all are open again: time", report.Duration(took))
	r.row("cut: lists", fmt.Sprint(r.clients.Counts().Lists-lists))
	r.row("cut: refused, before / in all", refused+" / "+r.clients.Refusals())
	r.row("cut: failed, before / in all", failed+" / "+r.clients.Failures())
	r.row("cut: processors", after.minus(before).String())
	r.addDelays("cut")
	m, err := r.facade.process.Memory()
	r.row("cut: resident at the end / peak", report.Size(m.Resident)+" / "+report.Size(m.Peak))
	return err
}
