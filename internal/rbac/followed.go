package rbac

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"
)

// failsFor is how long state returns a failure. It is longer than an informer's pause between two attempts.
const failsFor = 90 * time.Second

type followed struct {
	resource string
	informer toolscache.SharedIndexInformer
	opened   *openings
	log      *zap.Logger

	mu       sync.Mutex // guards the fields below
	failure  error
	failedAt time.Time
}

type kind struct {
	resource string
	example  runtime.Object
	source   toolscache.ListerWatcher
	indexers toolscache.Indexers
	trim     toolscache.TransformFunc // removes unused fields
	handler  toolscache.ResourceEventHandler
}

func follow(k kind, log *zap.Logger) (*followed, error) {
	opened := &openings{}
	source := noted{opened, log.With(zap.String("resource", k.resource)), k.source}
	f := &followed{resource: k.resource, opened: opened, log: log,
		informer: toolscache.NewSharedIndexInformer(source, k.example, 0, k.indexers)}
	err := errors.Join(f.informer.SetTransform(k.trim), f.informer.SetWatchErrorHandlerWithContext(f.failed))
	if err == nil && k.handler != nil {
		_, err = f.informer.AddEventHandler(k.handler)
	}
	if err != nil {
		return nil, fmt.Errorf("create informer for %s: %w", k.resource, err)
	}
	return f, nil
}

// failed is called for each list or watch that ended with an error.
func (f *followed) failed(_ context.Context, _ *toolscache.Reflector, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) ||
		apierrors.IsGone(err) {
		return // normal ends of watches; the informer watches or lists again
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure == nil || time.Since(f.failedAt) > failsFor {
		f.log.Warn("Cannot watch objects that permissions depend on; only periodic reviews notice changes",
			zap.String("resource", f.resource), zap.Error(err))
	}
	f.failure, f.failedAt = err, time.Now()
}

// state returns an error before the first list, and for failsFor after a failed list or watch.
func (f *followed) state() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil && time.Since(f.failedAt) <= failsFor:
		return fmt.Errorf("watch %s: %w", f.resource, f.failure)
	case !f.informer.HasSynced():
		return fmt.Errorf("watch %s: not synced yet", f.resource)
	default:
		return nil
	}
}

// current reports whether the informer has what the upstream has now, apart from the delay of the network.
func (f *followed) current() bool { return f.informer.HasSynced() && f.opened.last(settle) }

// currentSince reports whether the informer is current, and its watch was opened at or after a time. Its objects then
// include each object that existed at that time and still exists.
func (f *followed) currentSince(at time.Time) bool {
	since := f.opened.since.Load()
	return since != nil && !since.Before(at) && f.current()
}

func run(ctx context.Context, all ...*followed) {
	var wait sync.WaitGroup
	for _, f := range all {
		wait.Go(func() { f.informer.RunWithContext(ctx) })
	}
	wait.Wait()
}
