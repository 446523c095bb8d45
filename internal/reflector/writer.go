package reflector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/upstream"
	"github.com/listfacade/listfacade/internal/wire"
)

// pipe is how many steps may wait between the goroutine that cuts frames and the writer.
const pipe = 256

// reader fills one lane: it syncs, watches, resumes, and begins a new epoch when the upstream says 410. It is the lane's
// only writer.
type reader struct {
	client    *upstream.Client
	lane      *Reflector
	metrics   Metrics
	log       *zap.Logger
	streaming bool // the upstream knows streaming lists; learned from its refusal

	lesson  lesson
	shape   wire.Shape
	dialect atomic.Pointer[dialect] // of this epoch; fences read it

	extra    chan step     // steps of a fence, written by its goroutine, applied by the writer
	restored chan struct{} // holds one when a probe found the upstream set back
}

func newReader(client *upstream.Client, lane *Reflector, metrics Metrics, log *zap.Logger) *reader {
	return &reader{
		client: client, lane: lane, metrics: metrics, log: log, streaming: true, extra: make(chan step), restored: make(chan struct{}, 1),
	}
}

// run fills the lane until the context ends, the upstream refuses the resource, or it is redefined. Then the lane is closed:
// its watchers end, and requests are the upstream's to answer.
func (r *reader) run(ctx context.Context) {
	defer r.lane.Cache.Close()
	pause := newBackoff()
	for ctx.Err() == nil {
		err := r.epoch(ctx)
		if ctx.Err() != nil {
			return
		}
		r.lane.lost()
		if isRefused(err) || errors.Is(err, errRedefined) {
			r.log.Warn("the lane ends; requests are passed through until it is asked for again", zap.Error(err))
			r.lane.fail(&Failure{Err: err, When: time.Now(), Refused: true})
			return
		}
		if endsEpoch(err) {
			r.metrics.Relisted(r.lane.Resource.GVR.Group, r.lane.Resource.GVR.Resource)
			r.log.Info("the lane is listed again", zap.Error(err))
		} else {
			r.log.Warn("the lane is not being filled", zap.Error(err))
			r.lane.fail(&Failure{Err: err, When: time.Now()})
		}
		pause.sleep(ctx, retryAfter(err))
	}
}

// epoch syncs the lane and keeps it up to date until the upstream's window is lost or the sync fails.
func (r *reader) epoch(ctx context.Context) error {
	select {
	case <-r.restored: // by this very epoch it is dealt with
	default:
	}
	if err := r.learn(ctx); err != nil {
		return fmt.Errorf("learn what the resource looks like: %w", err)
	}
	began := time.Now()
	over := r.lane.Cache.Expect()
	open, err := r.sync(ctx)
	over()
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	state, err := r.lane.Cache.State()
	if err != nil {
		return err
	}
	r.log.Info("lane synced", zap.Int("objects", state.Len()), zap.Stringer("resourceVersion", state.RV()),
		zap.Duration("took", time.Since(began)))
	r.lane.fail(nil)
	r.lane.connected()
	return r.follow(ctx, open)
}

// follow applies the stream's steps, and when it ends resumes where the lane is, until the epoch ends.
func (r *reader) follow(ctx context.Context, open *stream) error {
	pause := newBackoff()
	for {
		began := time.Now()
		if open != nil {
			err := r.apply(ctx, open)
			if ctx.Err() != nil || endsEpoch(err) {
				return err
			}
			r.lane.lost()
			r.metrics.Reconnected(r.lane.Resource.GVR.Group, r.lane.Resource.GVR.Resource)
			r.log.Debug("the upstream's watch ended", zap.Error(err), zap.Duration("lived", time.Since(began)))
			// A watch that lived ends when its time is over; one that did not tells of an upstream that is not well.
			if time.Since(began) < settled || !errors.Is(err, io.EOF) {
				r.note(err)
				pause.sleep(ctx, retryAfter(err))
			}
		}
		var err error
		if open, err = r.resume(ctx); err == nil {
			continue
		}
		if ctx.Err() != nil || endsEpoch(err) || isRefused(err) {
			return err
		}
		r.note(err)
		pause.sleep(ctx, retryAfter(err))
	}
}

// note logs what keeps a watch from going on, other than its end.
func (r *reader) note(err error) {
	if errors.Is(err, io.EOF) {
		return
	}
	r.log.Info("the upstream's watch cannot go on yet", zap.Error(err))
}

// resume opens a watch from where the lane is.
func (r *reader) resume(ctx context.Context) (*stream, error) {
	shown, err := r.lane.Cache.State()
	if err != nil {
		return nil, err
	}
	if err := r.verify(ctx, shown.RV()); err != nil {
		return nil, err
	}
	rv, err := r.lane.Cache.Position()
	if err != nil {
		return nil, err
	}
	// Five to ten minutes, as client-go's reflectors ask for.
	return r.dialect.Load().watch(ctx, watchQuery(r.resumeAt(rv)), 300+rand.IntN(300))
}

// resumeAt is where a watch has to start so that nothing after rv is missed. When a lease ends etcd deletes up to 1,000
// events in one transaction, at one version: a stream may have broken off among them (semantics 4.4). What comes twice is
// dropped.
func (r *reader) resumeAt(rv cache.RV) cache.RV {
	if r.lane.Resource.ReadFromEtcd() && rv > 1 {
		return rv - 1
	}
	return rv
}

// settled is how long a watch must be open for the upstream to count as heard when nothing happens; one that lies or ends at
// once says nothing.
const settled = time.Second

// apply writes a stream's steps, and those of fences, into the lane until the stream ends. A goroutine of its own cuts the
// stream, so that scanning the next object and publishing this one overlap; it has ended when apply returns.
func (r *reader) apply(ctx context.Context, s *stream) error {
	ctx, cancel := context.WithCancel(ctx)
	steps, failed, cut := make(chan step, pipe), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(cut)
		failed <- pump(ctx, s, steps)
	}()
	defer func() { s.close(); cancel(); <-cut }()
	quiet := time.NewTimer(settled)
	defer quiet.Stop()
	for {
		var err error
		select {
		case st := <-steps:
			err = r.write(st)
		case st := <-r.extra:
			err = r.write(st)
		case err := <-failed:
			return errors.Join(r.rest(steps), err)
		case <-r.restored:
			err = errRestored
		case <-quiet.C:
			r.lane.connected()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
}

// rest writes what was read before a stream ended; it still counts.
func (r *reader) rest(steps <-chan step) error {
	for {
		select {
		case st := <-steps:
			if err := r.write(st); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// pump cuts a stream into steps until it ends.
func pump(ctx context.Context, s *stream, steps chan<- step) error {
	for {
		st, err := s.next()
		if err != nil {
			return err
		}
		st.frame = wire.Frame{} // its bytes are the stream's own
		select {
		case steps <- st:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// write applies one step. A change that the lane has already, because a fence and the watch both brought it, is dropped, and
// so is everything from a fence of the last epoch.
func (r *reader) write(st step) error {
	switch {
	case st.by != r.dialect.Load():
		return nil
	case st.columns != nil && r.shape.RawColumns != nil && !bytes.Equal(st.columns, r.shape.RawColumns):
		return errReprinted
	}
	if err := r.advance(st); errors.Is(err, cache.ErrOutOfOrder) {
		return nil
	} else if err != nil {
		return fmt.Errorf("apply an event: %w", err)
	}
	if st.kind == stepChange {
		r.lane.prover.Changed()
	}
	r.lane.connected()
	return nil
}

// advance makes a step of the lane; ErrOutOfOrder is one that the lane has made before.
func (r *reader) advance(st step) error {
	if st.kind == stepChange {
		if st.change.Kind == cache.Delete {
			r.lane.prover.Deleting(st.rv)
		}
		return r.lane.Cache.Apply(st.change)
	}
	r.lane.marked.Store(true)
	at, err := r.lane.Cache.Position()
	if err != nil {
		return err
	}
	if at >= st.rv {
		return cache.ErrOutOfOrder
	}
	r.lane.Cache.Progress(st.rv)
	return nil
}

// setBack tells the reader that the upstream is behind the lane.
func (r *reader) setBack() {
	select {
	case r.restored <- struct{}{}:
	default:
	}
}

// learnBookmark keeps what a bookmark of this kind looks like; what cannot be learned is the least that every bookmark has.
func (r *reader) learnBookmark(frame wire.Frame) {
	template, err := bookmarks.Learn(frame.Row.Object)
	if err != nil {
		r.log.Warn("the upstream's bookmark is not understood", zap.Error(err))
		template = r.plainBookmark()
	}
	r.lane.bookmark.Store(&Bookmark{Template: template, Cells: append([]byte(nil), frame.Row.Cells...)})
}

// plainBookmark is a bookmark of type meta and metadata only.
func (r *reader) plainBookmark() *bookmarks.Template {
	style := bookmarks.Builtin
	if r.shape.Custom {
		style = bookmarks.Custom
	}
	return bookmarks.Minimal(style, r.shape.APIVersion, r.shape.Kind)
}
