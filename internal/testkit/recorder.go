package testkit

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/listfacade/listfacade/internal/testkit/settings"
)

// Frame is one frame of a watch as it arrived.
type Frame struct {
	Line []byte    // without the newline, or in protobuf without the length
	At   time.Time // time at which the last byte was read

	apart func() (Event, error) // parses the frame, once; nil if the frame was not recorded
}

// Recording contains the frames of a watch and its end.
type Recording struct {
	Question Question
	Code     int
	Header   http.Header
	Frames   []Frame
	// Err is the reason of the end: nil after a clean end, context.Canceled if the recorder was closed.
	Err error
}

// Recorder records one watch until the server ends it or Close is called. It owns the goroutine that reads the stream,
// and Close waits for the goroutine. It is safe for concurrent use.
type Recorder struct {
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex // guards the fields below
	rec   Recording
	grown chan struct{} // closed and replaced when a frame arrives
}

// Record opens a watch and records it. It returns when the headers of the answer arrive, with any code.
func (a *Asker) Record(ctx context.Context, q Question) (*Recorder, error) {
	return a.record(ctx, q, &Recording{Question: q})
}

func (a *Asker) record(ctx context.Context, q Question, begun *Recording) (*Recorder, error) {
	ctx, cancel := context.WithCancel(ctx)
	open := a.openStream
	if q.Header.Get("Upgrade") != "" {
		open = a.openSocket
	}
	rec, body, err := open(ctx, q)
	if err != nil {
		cancel()
		return nil, err
	}
	rec.Question, rec.Frames = begun.Question, begun.Frames
	r := &Recorder{cancel: cancel, done: make(chan struct{}), grown: make(chan struct{}), rec: rec}
	go func() {
		defer close(r.done)
		defer body.Close()
		r.end(r.read(bufio.NewReader(body), cutterFor(rec.Header)))
	}()
	return r, nil
}

func (a *Asker) openStream(ctx context.Context, q Question) (Recording, io.ReadCloser, error) {
	response, err := a.Open(ctx, q) //nolint:bodyclose // the recorder closes it
	if err != nil {
		return Recording{}, nil, err
	}
	body := response.Body
	if response.Header.Get("Content-Encoding") == "gzip" {
		body = &inflated{body: body}
	}
	return Recording{Question: q, Code: response.StatusCode, Header: response.Header}, body, nil
}

// inflated reads a compressed stream. It reads the gzip header at the first Read, because the first bytes may be late.
type inflated struct {
	body io.ReadCloser
	gzip *gzip.Reader
}

func (i *inflated) Read(p []byte) (int, error) {
	if i.gzip == nil {
		var err error
		if i.gzip, err = gzip.NewReader(bufio.NewReader(i.body)); err != nil {
			return 0, err
		}
	}
	return i.gzip.Read(p)
}

func (i *inflated) Close() error { return i.body.Close() }

// MustRecord is Record that fails the test on an error. It closes the recorder when the test ends.
func (a *Asker) MustRecord(t testing.TB, q Question) *Recorder {
	t.Helper()
	r, err := a.Record(context.WithoutCancel(t.Context()), q)
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func (r *Recorder) read(from *bufio.Reader, cut cutter) error {
	for {
		line, err := cut(from)
		if err == nil || len(line) > 0 {
			r.add(Frame{Line: line, At: time.Now()})
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

func (r *Recorder) add(f Frame) {
	f.apart = sync.OnceValues(f.takeApart)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Frames = append(r.rec.Frames, f)
	close(r.grown)
	r.grown = make(chan struct{})
}

func (r *Recorder) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.Err = err
}

// SoFar returns the recording up to now.
func (r *Recorder) SoFar() *Recording {
	rec, _ := r.look()
	return rec
}

func (r *Recorder) look() (*Recording, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.rec
	rec.Frames = rec.Frames[:len(rec.Frames):len(rec.Frames)]
	return &rec, r.grown
}

// Until waits until the recording is long enough, and returns it. The test fails if the watch ends first, or after
// settings.Patience.
func (r *Recorder) Until(t testing.TB, what string, enough func(*Recording) bool) *Recording {
	t.Helper()
	rec := r.Await(enough)
	if !enough(rec) {
		t.Fatalf("%s: waiting until %s: the watch ended (%v) or took too long; got %s", rec.Question, what, rec.Err, rec)
	}
	return rec
}

// AwaitFrames waits for n frames or the end of the watch, at most settings.Patience, and returns the recording so far.
func (r *Recorder) AwaitFrames(n int) *Recording {
	return r.Await(func(rec *Recording) bool { return len(rec.Frames) >= n })
}

// Await waits until the recording is long enough or the watch ends, at most settings.Patience, and returns the
// recording so far.
func (r *Recorder) Await(enough func(*Recording) bool) *Recording {
	timer := time.NewTimer(settings.Patience())
	defer timer.Stop()
	for {
		rec, grown := r.look()
		if enough(rec) {
			return rec
		}
		select {
		case <-grown:
		case <-r.done:
			return r.SoFar()
		case <-timer.C:
			return rec
		}
	}
}

// Ended waits until the server ends the watch, and returns the complete recording.
func (r *Recorder) Ended(t testing.TB) *Recording {
	t.Helper()
	timer := time.NewTimer(settings.Patience())
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		t.Fatalf("%s: still open after %s; got %s", r.SoFar().Question, settings.Patience(), r.SoFar())
	}
	return r.SoFar()
}

// Done returns a channel that is closed when the watch has ended.
func (r *Recorder) Done() <-chan struct{} { return r.done }

// Close ends the watch and returns the complete recording. It may be called more than once.
func (r *Recorder) Close() *Recording {
	r.cancel()
	<-r.done
	return r.SoFar()
}
