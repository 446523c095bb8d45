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

	"github.com/listfacade/listfacade/internal/testkit/bubble"
)

// slowWriter is a connection whose client accepts each piece after a time. It records its deadlines.
type slowWriter struct {
	http.ResponseWriter
	takes time.Duration

	mu        sync.Mutex
	deadlines []time.Time
	broken    chan struct{} // closed by a deadline that has passed
}

// SetWriteDeadline is called by http.ResponseController.
func (w *slowWriter) SetWriteDeadline(deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadlines = append(w.deadlines, deadline)
	if !deadline.IsZero() && deadline.Before(time.Now()) {
		close(w.broken)
	}
	return nil
}

// Write implements io.Writer.
func (w *slowWriter) Write(p []byte) (int, error) {
	select {
	case <-time.After(w.takes):
		return len(p), nil
	case <-w.broken:
		return 0, os.ErrDeadlineExceeded
	}
}

// Flush implements http.Flusher.
func (w *slowWriter) Flush() {}

// set returns the number of deadlines that were set since the last call.
func (w *slowWriter) set() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.deadlines = nil }()
	return len(w.deadlines)
}

const pieceTimeout = 30 * time.Second

// replyTo returns a response over HTTP/2.
func replyTo(w http.ResponseWriter) *reply {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.ProtoMajor = 2
	return newReply(w, r, zap.NewNop(), pieceTimeout)
}

// send sends a piece and flushes it.
func send(out *timedWriter) error {
	if _, err := out.Write([]byte("x")); err != nil {
		return err
	}
	return out.Flush()
}

// A stream whose client reads sets no deadline, busy or quiet. A single piece that is not accepted in time breaks it
// off.
func TestStreamsBreakOffIfAPieceIsNotAccepted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{})}
		o := replyTo(w)
		for _, quiet := range []time.Duration{0, time.Second, pieceTimeout, 10 * pieceTimeout} {
			w.takes = pieceTimeout - time.Second
			for range 5 {
				if err := send(o.pieces()); err != nil {
					t.Fatalf("after a pause of %s: got %v", quiet, err)
				}
				if quiet > 0 {
					<-time.After(quiet)
				}
			}
		}
		if n := w.set(); n != 0 {
			t.Errorf("got %d deadlines, want none", n)
		}
		w.takes = 10 * pieceTimeout
		began := time.Now()
		if err := send(o.pieces()); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != pieceTimeout {
			t.Errorf("a piece that is not accepted: got %v after %s", err, time.Since(began))
		}
		o.finish()
	})
}

// After a response is finished, its connection is not changed.
func TestFinishedResponseSetsNoDeadline(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{})}
		o := replyTo(w)
		if err := send(o.pieces()); err != nil {
			t.Fatal(err)
		}
		o.finish()
		if n := w.set(); n != 1 {
			t.Errorf("got %d deadlines for the bytes that net/http sends, want one", n)
		}
		<-time.After(10 * pieceTimeout)
		synctest.Wait()
		if n := w.set(); n != 0 {
			t.Errorf("got %d deadlines after the end, want none", n)
		}
	})
}

// A response with a timeout moves its deadline only a few times per write timeout. A piece always has its time, and the
// deadline never exceeds the timeout.
func TestDeadlinesAreMovedRarely(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: 10 * time.Millisecond}
		o := replyTo(w)
		began := time.Now()
		o.until = began.Add(time.Minute)
		for range 4000 {
			if _, err := o.pieces().Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			deadline := w.deadlines[len(w.deadlines)-1]
			w.mu.Unlock()
			if left := time.Until(deadline); deadline.After(o.until) || !deadline.Equal(o.until) && (left < pieceTimeout-w.takes || left > pieceTimeout*9/8) {
				t.Fatalf("after %s: got a deadline in %s", time.Since(began), left)
			}
		}
		if n := w.set(); n > 16 {
			t.Errorf("got %d deadlines in 40 seconds, want at most 16", n)
		}
	})
}

// A long-running response starts with the first code, bytes or flush.
func TestStartOfLongRunningResponseIsReported(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"a code":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"a piece": func(w http.ResponseWriter) { _, _ = w.Write([]byte("x")) },
		"a flush": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		follower := &followed{}
		o := replyTo(httptest.NewRecorder())
		o.observer, o.event.LongRunning = follower, true
		o.hand(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			begin(w)
			if len(follower.answering) != 1 || follower.answering[0] != http.StatusOK {
				t.Errorf("%s: got %v", name, follower.answering)
			}
		}))
		o.finish()
	}
}
