package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/bookmarks"
	"github.com/listfacade/listfacade/cache"
	"github.com/listfacade/listfacade/internal/wire"
	"github.com/listfacade/listfacade/selectors"
)

// pipe is how many steps may wait between the goroutine that cuts frames and the writer.
const pipe = 256

// reader fills one lane: it syncs, watches, resumes, and begins a new epoch when the upstream says 410. It is the lane's
// only writer.
type reader struct {
	client    *Client
	lane      *Lane
	metrics   Metrics
	log       *zap.Logger
	streaming bool // the upstream knows streaming lists; learned from its refusal

	accept    string
	extractor *wire.Extractor
	shape     wire.Shape
	define    definition

	extra chan step // steps of a fence, written by its goroutine, applied by the writer
}

// run fills the lane until the context ends or the upstream refuses the resource. Then the lane is closed: its watchers end,
// and requests are the upstream's to answer.
func (r *reader) run(ctx context.Context) {
	defer r.lane.Cache.Close()
	pause := newBackoff()
	for ctx.Err() == nil {
		err := r.epoch(ctx)
		if ctx.Err() != nil {
			return
		}
		r.lane.lost()
		switch {
		case isLost(err):
			r.metrics.Relisted(r.lane.Resource.GVR.Resource)
			r.log.Info("the upstream no longer holds the lane's resourceVersion; listing again", zap.Error(err))
		case isRefused(err):
			r.log.Warn("the upstream refuses the resource; its requests are passed through", zap.Error(err))
			r.lane.fail(&Failure{Err: err, When: time.Now(), Refused: true})
			return
		default:
			r.log.Warn("the lane is not being filled", zap.Error(err))
			r.lane.fail(&Failure{Err: err, When: time.Now()})
		}
		pause.sleep(ctx, retryAfter(err))
	}
}

// epoch syncs the lane and keeps it up to date until the upstream's window is lost or the sync fails.
func (r *reader) epoch(ctx context.Context) error {
	if err := r.learn(ctx); err != nil {
		return fmt.Errorf("learn what the resource looks like: %w", err)
	}
	began := time.Now()
	open, err := r.sync(ctx)
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
	return r.follow(ctx, open)
}

// learn asks what lists of the resource look like and which fields select, anew for each epoch: a CRD may have changed.
func (r *reader) learn(ctx context.Context) error {
	body, header, err := r.client.readWithHeader(ctx, probeTarget(r.lane.Resource), mediaJSON, maxErrorBody)
	if err != nil {
		return err
	}
	warnings := header.Values("Warning")
	r.lane.warnings.Store(&warnings)
	if r.shape, err = wire.LearnList(body); err != nil {
		return err
	}
	gvr := r.lane.Resource.GVR
	r.shape.Kind, r.shape.APIVersion = r.lane.Resource.GVK.Kind, r.lane.Resource.GVK.GroupVersion().String()
	r.shape.Invented = wire.InventedAnnotations(gvr.Group, gvr.Version, gvr.Resource)
	r.define = definition{}
	if r.shape.Custom {
		if r.define, err = r.client.define(ctx, r.lane.Resource); err != nil {
			return err
		}
	}
	kind := kindOf(r.lane.Resource, &r.shape, r.define)
	r.extractor = wire.NewExtractor(pathsOf(kind))
	r.accept = mediaTable
	r.lane.kind.Store(kind)
	r.lane.announce()
	return nil
}

func pathsOf(kind *selectors.Kind) []wire.Path {
	fields := kind.Fields()
	paths := make([]wire.Path, len(fields))
	for i, field := range fields {
		paths[i] = wire.Path{Alternatives: field.Paths, Default: field.Default}
	}
	return paths
}

// follow applies the stream's steps, and when it ends resumes where the lane is, until the window is lost.
func (r *reader) follow(ctx context.Context, open *stream) error {
	pause := newBackoff()
	for {
		began := time.Now()
		if open != nil {
			r.lane.connected()
			err := r.apply(ctx, open)
			if ctx.Err() != nil || isLost(err) {
				return err
			}
			r.lane.lost()
			r.metrics.Reconnected(r.lane.Resource.GVR.Resource)
			r.log.Debug("the upstream's watch ended", zap.Error(err), zap.Duration("lived", time.Since(began)))
			// A watch that lived ends when its time is over; one that did not tells of an upstream that is not well.
			if time.Since(began) < time.Second || !errors.Is(err, io.EOF) {
				pause.sleep(ctx, retryAfter(err))
			}
		}
		state, err := r.lane.Cache.State()
		if err != nil {
			return err
		}
		// Five to ten minutes, as client-go's reflectors ask for.
		open, err = r.client.watch(ctx, r.lane.Resource, watchQuery(r.resumeAt(state.RV()), 300+rand.IntN(300)), r.accept, r.extractor)
		if err == nil {
			continue
		}
		if ctx.Err() != nil || isLost(err) || isRefused(err) {
			return err
		}
		r.log.Debug("the upstream's watch cannot be resumed yet", zap.Error(err))
		pause.sleep(ctx, retryAfter(err))
	}
}

// resumeAt is where a watch has to start so that nothing after rv is missed. When a lease ends etcd deletes up to 1,000
// events in one transaction, at one version: a stream may have broken off among them (semantics 4.4). What comes twice is
// dropped.
func (r *reader) resumeAt(rv cache.RV) cache.RV {
	if r.lane.Uncached() && rv > 1 {
		return rv - 1
	}
	return rv
}

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
	for {
		select {
		case st := <-steps:
			r.write(st)
		case st := <-r.extra:
			r.write(st)
		case err := <-failed:
			for { // what was read before the end still counts
				select {
				case st := <-steps:
					r.write(st)
				default:
					return err
				}
			}
		case <-ctx.Done():
			return ctx.Err()
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

// write applies one step. A change that the lane has already, because a fence and the watch both brought it, is dropped.
func (r *reader) write(st step) {
	if st.kind != stepChange {
		r.lane.Cache.Progress(st.rv)
		return
	}
	if err := r.lane.Cache.Apply(st.change); err != nil && !errors.Is(err, cache.ErrOutOfOrder) {
		r.log.Error("an event was not applied", zap.Error(err))
	}
}

// fence reads a short watch from where the lane is until a bookmark and hands its steps to the writer. It returns when the
// writer has taken them, or when the context ends.
func (r *reader) fence(ctx context.Context) {
	state, err := r.lane.Cache.State()
	if err != nil {
		return
	}
	s, err := r.client.watch(ctx, r.lane.Resource, watchQuery(state.RV(), fenceSeconds), r.accept, r.extractor)
	if err != nil {
		return
	}
	defer s.close()
	for {
		st, err := s.next()
		if err != nil {
			return
		}
		proven := st.kind != stepChange
		st.frame = wire.Frame{}
		select {
		case r.extra <- st:
		case <-ctx.Done():
			return
		}
		if proven {
			_, _ = r.lane.Cache.WaitFor(ctx, st.rv, time.Second) // the writer is about to apply it
			return
		}
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
