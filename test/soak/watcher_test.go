package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/listfacade/listfacade/internal/testkit"
	"github.com/listfacade/listfacade/internal/testkit/settings"
	"github.com/listfacade/listfacade/internal/testkit/suite"
)

// pause is the time between two attempts of a client.
const pause = 100 * time.Millisecond

// way is how a client lists and watches.
type way struct {
	name      string
	selectors []string // label selectors
	more      string   // added to the queries of list and watch
	cached    bool     // the list may have any age
	streams   bool     // initial events instead of a list
	silent    bool     // no bookmarks
	accept    string   // Accept header of the watch
	brief     bool     // short watches
}

// ways returns ten ways. Each kind has a watcher per way. All of them select the object that writer.mark writes.
func ways(k *kind) []way {
	return []way{
		{name: "list"},
		{name: "cached", cached: true},
		{name: "silent", cached: true, silent: true},
		{name: "label", selectors: []string{"t=a"}},
		{name: "labels", selectors: []string{"t in (a,b)", "u!=x"}, cached: true},
		{name: "field", more: "&fieldSelector=metadata.name%3D" + k.name(1)},
		{name: "streaming", streams: true},
		{name: "streaming label", streams: true, selectors: []string{"t=a"}},
		{name: "metadata", accept: suite.AcceptPartial},
		{name: "brief", brief: true, cached: true},
	}
}

// told is a watch that has ended, and its world.
type told struct {
	*testkit.Recording
	world int
}

// watcher is a client like a reflector: it lists, watches, resumes where a watch ended, and lists again after a 410. It
// records the events.
type watcher struct {
	way
	soak   *soak
	kind   *kind
	random *rand.Rand

	mu     sync.Mutex // guards the fields below
	world  int
	listed bool
	last   uint64 // version reached before the open watch
	open   *testkit.Recorder
	over   chan struct{} // closed when the recording of the open watch is stored
	does   string
	told   []told
	lists  []read
}

func (w *watcher) String() string { return w.kind.GVR.Resource + ", " + w.name }

func (w *watcher) run(ctx context.Context) {
	again := time.NewTicker(pause)
	defer again.Stop()
	for ctx.Err() == nil {
		if w.attempt(ctx) {
			continue
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
}

// attempt lists if necessary, and watches until the watch ends. It reports whether the next may follow immediately.
func (w *watcher) attempt(ctx context.Context) bool {
	w.mu.Lock()
	listed, last := w.listed, w.last
	w.mu.Unlock()
	if !listed && !w.streams {
		return w.list(ctx)
	}
	query := fmt.Sprintf("watch=1&resourceVersion=%d", last)
	if !listed {
		query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
	}
	if !w.silent {
		query += "&allowWatchBookmarks=true"
	}
	return w.watch(ctx, query)
}

func (w *watcher) list(ctx context.Context) bool {
	q := testkit.Question{Path: w.kind.collection("timeout=30s"+w.more, w.selectors...)}
	floor := written{}
	if w.cached {
		q.Path += "&resourceVersion=0"
	} else {
		floor, _, _ = w.soak.writers[w.kind].acknowledged()
	}
	w.note("asks %s", q)
	answer, world, ok := w.soak.ask(ctx, w.String(), q)
	if !ok {
		w.note("was refused %s", q)
		return false
	}
	rv := versionOf(answer.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.enter(rv)
	if w.world == world { // a list across two worlds is checked elsewhere
		w.lists = append(w.lists, read{question: q, answer: answer, floor: floor, world: world})
	}
	w.listed, w.last = true, rv
	return true
}

// enter records the version and world of the current reads. After a restore versions are below all earlier ones. The
// caller holds mu.
func (w *watcher) enter(rv uint64) {
	if now, before := w.soak.setBack(w.kind); w.world < now && rv < before {
		w.world = now
	}
}

func (w *watcher) watch(ctx context.Context, query string) bool {
	life := w.soak.life(w)
	q := testkit.Question{Path: w.kind.collection(fmt.Sprintf("%s&timeoutSeconds=%d%s", query, life, w.more), w.selectors...)}
	if w.accept != "" {
		q.Header = suite.Accepting(w.accept)
	}
	w.note("opens %s", q)
	began, phase := time.Now(), w.soak.phase.Load()
	recorder, err := w.soak.asker.Record(ctx, q)
	if err != nil {
		w.soak.failed(ctx, phase, "%s: open a watch: %v", w, err)
		return false
	}
	if code := recorder.SoFar().Code; code != http.StatusOK {
		<-recorder.Done()
		w.note("was answered %d %s to %s", code, recorder.SoFar(), q)
		w.soak.answered(phase, code, fmt.Sprintf("%s: a watch", w))
		if code == http.StatusGone {
			w.forget()
		}
		return false
	}
	w.note("watches %s, passed through: %t", q, passed(recorder.SoFar()))
	w.mu.Lock()
	w.open, w.over = recorder, make(chan struct{})
	w.mu.Unlock()
	<-recorder.Done()
	due := time.Since(began) >= time.Duration(life)*time.Second //pace: the watch lasted for its timeout
	return w.end(recorder.SoFar(), due)
}

// end stores a watch that has ended.
func (w *watcher) end(r *testkit.Recording, due bool) bool {
	failure := withoutError(r)
	if passed(r) {
		w.endPassed(r)
	} else {
		w.endCached(r, failure, due)
	}
	if failure != nil {
		w.soak.relisted.Add(1)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open = nil
	close(w.over)
	initial := where(r.Question.Path).Has("sendInitialEvents")
	if !initial || suite.Begun(r) { // incomplete initial events are not a list
		if initial {
			w.enter(r.Reached())
		}
		w.told = append(w.told, told{Recording: r, world: w.world})
		w.listed, w.last = true, max(w.last, r.Reached())
		if initial {
			w.last = r.Reached()
		}
	}
	if failure != nil {
		w.listed = false
	}
	return failure == nil || failure.Code == http.StatusGone
}

// note records the watcher's current action, for failure messages.
func (w *watcher) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.does = fmt.Sprintf(format, args...)
}

// doing returns the watcher's current action.
func (w *watcher) doing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.does
}

// endCached checks the end of a cached watch: by its timeout, by the test, or by a fault that allows it.
func (w *watcher) endCached(r *testkit.Recording, failure *status, due bool) {
	switch now := w.soak.phase.Load(); {
	case r.Err != nil && !errors.Is(r.Err, context.Canceled):
		w.soak.complain("%s: its watch broke: %v", w, r.Err)
	case failure == nil && r.Err == nil && !due && !now.closes:
		w.soak.complain("%s: its watch was closed", w)
	case failure != nil && failure.Code != http.StatusGone:
		w.soak.complain("%s: its watch failed: %+v", w, *failure)
	case failure != nil && !now.relists:
		w.soak.complain("%s: it received an unexpected ERROR: %+v", w, *failure)
	}
}

// endPassed removes incomplete frames from a forwarded watch, which may end in any way, like its connection to
// kube-apiserver. Without a fault, and with memory for all lanes, no watch is forwarded.
func (w *watcher) endPassed(r *testkit.Recording) {
	now := w.soak.phase.Load()
	if now == calm && !settings.Smallest() {
		w.soak.complain("%s: its watch was passed through", w)
	}
	for i, frame := range r.Frames {
		if _, err := frame.Event(); err != nil && now.garbage {
			r.Frames = r.Frames[:i]
			return
		}
	}
}

// passed reports whether a watch was forwarded.
func passed(r *testkit.Recording) bool { return r.Header.Get(roadHeader) != "" }

func (w *watcher) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listed = false
}

// status is the Status of an ERROR frame.
type status struct {
	Code            int
	Reason, Message string
}

// withoutError removes the ERROR frame at the end of a recording.
func withoutError(r *testkit.Recording) *status {
	if len(r.Frames) == 0 {
		return nil
	}
	e, err := r.Frames[len(r.Frames)-1].Event()
	if err != nil || e.Type != "ERROR" {
		return nil
	}
	r.Frames = r.Frames[:len(r.Frames)-1]
	s := &status{}
	if err := json.Unmarshal(e.Object, s); err != nil {
		s.Message = string(e.Object)
	}
	return s
}

// reached returns the watcher's version and world, and whether its watch is open and cached. A watch within its initial
// events has no version.
func (w *watcher) reached() (rv uint64, world int, open bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		return w.last, w.world, false
	}
	r := w.open.SoFar()
	if passed(r) { // a later watch will be cached again
		go w.open.Close()
		return w.last, w.world, false
	}
	if !where(r.Question.Path).Has("sendInitialEvents") {
		return max(w.last, r.Reached()), w.world, true
	}
	if !suite.Begun(r) {
		return 0, w.world, false
	}
	w.enter(r.Reached())
	return r.Reached(), w.world, true
}

// reopen ends the open watch, and returns when its recording is stored. The next watch resumes there.
func (w *watcher) reopen(ctx context.Context) error {
	w.mu.Lock()
	open, over := w.open, w.over
	w.mu.Unlock()
	if open == nil {
		return nil
	}
	open.Close()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// collect removes and returns the recordings and lists of a world.
func (w *watcher) collect(world int) (watches []told, lists []read) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rest []told
	for _, r := range w.told {
		if r.world == world {
			watches = append(watches, r)
		} else {
			rest = append(rest, r)
		}
	}
	w.told = rest
	lists, w.lists = ofWorld(w.lists, world)
	return watches, lists
}
