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
)

// slowWriter is a connection whose client takes a piece when it is told to, and which knows its deadlines.
type slowWriter struct {
	http.ResponseWriter
	takes time.Duration

	mu        sync.Mutex
	deadlines []time.Time
	broken    chan struct{} // closed by a deadline that has passed
}

// SetWriteDeadline is what http.ResponseController calls.
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

// set is how many deadlines were set since it was asked last.
func (w *slowWriter) set() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.deadlines = nil }()
	return len(w.deadlines)
}

const pieceTimeout = 30 * time.Second

// replyTo is an answer in HTTP/2.
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

// A stream that is read sets no deadline, busy or quiet, however long; one piece that is not taken in time breaks it.
func TestStreamsAreGuarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{})}
		o := replyTo(w)
		for _, quiet := range []time.Duration{0, time.Second, pieceTimeout, 10 * pieceTimeout} {
			w.takes = pieceTimeout - time.Second
			for range 5 {
				if err := send(o.pieces()); err != nil {
					t.Fatalf("quiet for %s: %v", quiet, err)
				}
				if quiet > 0 {
					<-time.After(quiet)
				}
			}
		}
		if n := w.set(); n != 0 {
			t.Errorf("%d deadlines were set for a stream that is read", n)
		}
		w.takes = 10 * pieceTimeout
		began := time.Now()
		if err := send(o.pieces()); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != pieceTimeout {
			t.Errorf("a piece that is not taken: %v after %s", err, time.Since(began))
		}
		o.finish()
	})
}

// When an answer is finished nothing touches its connection any more.
func TestGuardEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{})}
		o := replyTo(w)
		if err := send(o.pieces()); err != nil {
			t.Fatal(err)
		}
		o.finish()
		if n := w.set(); n != 1 {
			t.Errorf("%d deadlines for what net/http sends, not one", n)
		}
		<-time.After(10 * pieceTimeout)
		synctest.Wait()
		if n := w.set(); n != 0 {
			t.Errorf("%d deadlines were set behind the end", n)
		}
	})
}

// An answer that has its time moves its deadline a few times in a timeout, never so that a piece has less than its
// time, and never beyond the end.
func TestDeadlinesOfLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{ResponseWriter: httptest.NewRecorder(), broken: make(chan struct{}), takes: 10 * time.Millisecond}
		o := replyTo(w)
		began := time.Now()
		o.until = began.Add(time.Minute)
		for range 4000 {
			if _, err := o.pieces().Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			stands := w.deadlines[len(w.deadlines)-1]
			w.mu.Unlock()
			if left := time.Until(stands); stands.After(o.until) || !stands.Equal(o.until) && (left < pieceTimeout-w.takes || left > pieceTimeout*9/8) {
				t.Fatalf("after %s a deadline stands in %s", time.Since(began), left)
			}
		}
		if n := w.set(); n > 16 {
			t.Errorf("%d deadlines in 40 seconds", n)
		}
	})
}

// What runs long begins with what is sent first, whoever sends it.
func TestLongAnswersBegin(t *testing.T) {
	for name, begin := range map[string]func(http.ResponseWriter){
		"a code":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"a piece": func(w http.ResponseWriter) { _, _ = w.Write([]byte("x")) },
		"a flush": func(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() },
	} {
		follower := &followed{}
		o := replyTo(httptest.NewRecorder())
		o.follower, o.event.LongRunning = follower, true
		o.hand(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			begin(w)
			if len(follower.answering) != 1 || follower.answering[0] != http.StatusOK {
				t.Errorf("%s: %v", name, follower.answering)
			}
		}))
		o.finish()
	}
}
