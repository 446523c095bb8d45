package handlers

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/listfacade/listfacade/internal/observe"
)

// followed keeps what a Follower is told.
type followed struct {
	eventRecorder
	mu        sync.Mutex
	received  []string // who asked
	answering []int    // the codes of answers that run long
	lags      []observe.Lag
}

func (f *followed) Received(e *observe.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.received = append(f.received, e.User)
	return nil
}

func (f *followed) Answering(e *observe.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answering = append(f.answering, e.Code)
}

func (f *followed) Lagging(_ *observe.Event, by observe.Lag) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lags = append(f.lags, by)
}

// A watch whose client stops reading is told of while it is open, with how far it is behind, and again when it goes on
// so. One that is read, quiet or busy, never is.
func TestLagsAreTold(t *testing.T) {
	const bound = 5 * time.Second
	follower := &followed{}
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		ctx := t.Context()
		open := func() *http.Response {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://facade.test/api/v1/configmaps?watch=1&resourceVersion=0", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := f.client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			return response
		}
		read := open()
		reading := make(chan struct{})
		go func() {
			defer close(reading)
			for buffer := make([]byte, 1<<20); ; {
				if _, err := read.Body.Read(buffer); err != nil {
					return
				}
			}
		}()
		for range 20 {
			f.Put("ns/a", usual)
			<-time.After(time.Second)
		}
		<-time.After(time.Minute)
		if len(follower.lags) != 0 {
			t.Errorf("a watch that is read is behind: %v", follower.lags)
		}
		stalled := open()
		for range 1000 {
			f.Put("ns/a", usual)
		}
		<-time.After(3*bound + time.Second)
		follower.mu.Lock()
		lags := follower.lags
		follower.mu.Unlock()
		if len(lags) != 3 {
			t.Fatalf("told %d times: %v", len(lags), lags)
		}
		for i, lag := range lags {
			if behind := lag.For.Round(time.Second); behind != time.Duration(i+1)*bound {
				t.Errorf("%d: behind for %s", i, behind)
			}
			if lag.LaneRV < lag.SentRV || lag.LaneRV == 0 {
				t.Errorf("%d: %+v", i, lag)
			}
		}
		_ = stalled.Body.Close()
		_ = read.Body.Close()
		<-reading
		f.drain()
		if e := follower.last(); e.Verb != "watch" {
			t.Errorf("%+v", e)
		}
	}, func(c *Config) { c.Sink, c.SlowWatchLag = follower, bound })
}

// A stream that is never caught up with is behind although each piece is taken in time; one that is caught up with
// between its pieces is not.
func TestLagCountsFromTheFirstPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: time.Second}
		o := replyTo(w)
		var told []time.Duration
		o.notifyLag(5*time.Second, func(behind time.Duration) { told = append(told, behind) })
		for range 20 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
			o.caughtUp()
		}
		if len(told) != 0 {
			t.Errorf("behind for %s", told)
		}
		for range 12 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
		}
		if len(told) != 2 || told[0].Round(time.Second) != 5*time.Second || told[1].Round(time.Second) != 10*time.Second {
			t.Errorf("behind for %s", told)
		}
		o.finish()
		<-time.After(time.Hour)
		if len(told) != 2 {
			t.Errorf("told behind the end: %s", told)
		}
	})
}

// A piece that is not taken is broken off in its time, however long a watch may be behind, and whatever the timer was
// set to between two pieces.
func TestLagDoesNotDelayTheGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: time.Second}
		o := replyTo(w)
		o.notifyLag(10*pieceTimeout, func(time.Duration) {})
		if err := send(o.pieces()); err != nil {
			t.Fatal(err)
		}
		<-time.After(pieceTimeout + time.Second) // the timer finds no piece, and a watch that is behind
		w.takes = 10 * pieceTimeout
		began := time.Now()
		if err := send(o.pieces()); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != pieceTimeout {
			t.Errorf("a piece that is not taken: %v after %s", err, time.Since(began))
		}
		o.finish()
	})
}

// Who follows is told who asks before anything is done, and of the beginnings of what runs long, refusals included.
func TestFollowed(t *testing.T) {
	follower := &followed{}
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		for target, want := range map[string][]int{
			reads[0]: nil, "/api/v1/configmaps?watch=1&timeoutSeconds=1&resourceVersion=0": {200},
			"/api/v1/configmaps?watch=1&resourceVersion=x": {500},
		} {
			follower.received, follower.answering = nil, nil
			f.get(t, target)
			e := follower.last()
			if len(follower.received) != 1 || follower.received[0] != e.User {
				t.Errorf("%s: received %v", target, follower.received)
			}
			if len(follower.answering) != len(want) || len(want) > 0 && follower.answering[0] != want[0] {
				t.Errorf("%s: answering %v, want %v", target, follower.answering, want)
			}
		}
	}, func(c *Config) { c.Sink = follower })
}

// What the client takes to accept an answer is told from what its bytes take to make.
func TestWritingIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: time.Second}
		o := replyTo(w)
		for range 3 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
		}
		if e := o.finish(); e.Waits[observe.Writing] != 3*time.Second {
			t.Errorf("writing took %s", e.Waits[observe.Writing])
		}
	})
}

// The log has a line for a watch that is behind while it is open.
func TestSlowWatchIsLogged(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	inBubble(t, func(t *testing.T, f *facade) {
		f.Put("ns/a", "1")
		f.get(t, reads[0])
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://facade.test/api/v1/configmaps?watch=1&resourceVersion=0", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := f.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		for range 1000 {
			f.Put("ns/a", usual)
		}
		<-time.After(time.Minute / 4)
		synctest.Wait()
		lines := logs.FilterMessage("slow watch").All()
		if len(lines) == 0 || lines[0].ContextMap()["auditID"] != response.Header.Get("Audit-Id") {
			t.Errorf("%v", logs.All())
		}
		_ = response.Body.Close()
		f.drain()
		synctest.Wait()
		if logs.FilterMessage("slow watch ended").Len() != 1 {
			t.Errorf("%v", logs.All())
		}
	}, func(c *Config) {
		limits := observe.SlowLimits{WatchLag: 5 * time.Second}
		c.Sink, c.SlowWatchLag = observe.NewSlowLog(zap.New(core), limits), limits.WatchLag
	})
}
