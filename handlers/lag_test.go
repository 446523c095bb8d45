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
	"github.com/listfacade/listfacade/internal/oplog"
	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// followed records the calls of an Observer.
type followed struct {
	eventRecorder
	mu        sync.Mutex
	received  []string // names of callers
	answering []int    // codes of long-running responses
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

// A watch whose client stops reading is reported while it is open, with its lag, and again as long as that lasts. A
// watch whose client reads is never reported, quiet or busy.
func TestLaggingWatchIsReported(t *testing.T) {
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
			t.Errorf("got %v for a watch whose client reads, want no lag", follower.lags)
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
			t.Fatalf("got %d reports, want 3: %v", len(lags), lags)
		}
		for i, lag := range lags {
			if behind := lag.For.Round(time.Second); behind != time.Duration(i+1)*bound {
				t.Errorf("report %d: got a lag of %s", i, behind)
			}
			if lag.LaneRV < lag.SentRV || lag.LaneRV == 0 {
				t.Errorf("report %d: got %+v", i, lag)
			}
		}
		_ = stalled.Body.Close()
		_ = read.Body.Close()
		<-reading
		f.drain()
		if e := follower.last(); e.Verb != "watch" {
			t.Errorf("got %+v", e)
		}
	}, func(c *Config) { c.Observer, c.SlowWatchLag = follower, bound })
}

// A stream that never catches up is behind, although each piece is accepted in time. A stream that catches up between
// its pieces is not.
func TestLagCountsFromTheFirstPiece(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: time.Second}
		o := replyTo(w)
		var lags []time.Duration
		o.notifyLag(5*time.Second, func(behind time.Duration) { lags = append(lags, behind) })
		for range 20 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
			o.caughtUp()
		}
		if len(lags) != 0 {
			t.Errorf("got lags %s, want none", lags)
		}
		for range 12 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
		}
		if len(lags) != 2 || lags[0].Round(time.Second) != 5*time.Second || lags[1].Round(time.Second) != 10*time.Second {
			t.Errorf("got lags %s, want 5s and 10s", lags)
		}
		o.finish()
		<-time.After(time.Hour)
		if len(lags) != 2 {
			t.Errorf("got lags %s after the end", lags)
		}
	})
}

// A piece that is not accepted is broken off after the write timeout. The lag bound and the timer between two pieces do
// not delay that.
func TestLagDoesNotDelayWriteTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
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
			t.Errorf("a piece that is not accepted: got %v after %s", err, time.Since(began))
		}
		o.finish()
	})
}

// An Observer receives the caller before any work is done, and the start of each long-running response, even a refusal.
func TestObserverIsNotified(t *testing.T) {
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
				t.Errorf("%s: got callers %v", target, follower.received)
			}
			if len(follower.answering) != len(want) || len(want) > 0 && follower.answering[0] != want[0] {
				t.Errorf("%s: got codes %v, want %v", target, follower.answering, want)
			}
		}
	}, func(c *Config) { c.Observer = follower })
}

// The time for writing a response is counted separately from the time for encoding it.
func TestWritingIsCountedSeparately(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: time.Second}
		o := replyTo(w)
		for range 3 {
			if err := send(o.pieces()); err != nil {
				t.Fatal(err)
			}
		}
		if e := o.finish(); e.Waits[observe.Writing] != 3*time.Second {
			t.Errorf("got %s for writing", e.Waits[observe.Writing])
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
		lines := logs.FilterMessage("Slow watch").All()
		if len(lines) == 0 || lines[0].ContextMap()["auditID"] != response.Header.Get("Audit-Id") {
			t.Errorf("got %v", logs.All())
		}
		_ = response.Body.Close()
		f.drain()
		synctest.Wait()
		if logs.FilterMessage("Slow watch ended").Len() != 1 {
			t.Errorf("got %v", logs.All())
		}
	}, func(c *Config) {
		limits := oplog.SlowLimits{WatchLag: 5 * time.Second}
		c.Observer, c.SlowWatchLag = oplog.NewSlowLog(zap.New(core), limits), limits.WatchLag
	})
}
