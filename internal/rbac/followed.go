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

// failsFor is how long a failure counts: longer than the informers' pauses between two attempts.
const failsFor = 90 * time.Second

// followed is all objects of one kind.
type followed struct {
	resource string
	informer toolscache.SharedIndexInformer
	log      *zap.Logger

	mu       sync.Mutex // guards the rest
	failure  error      // the last one
	failedAt time.Time
}

// kind is what is followed, and how.
type kind struct {
	resource string
	example  runtime.Object
	source   toolscache.ListerWatcher
	indexers toolscache.Indexers
	trim     toolscache.TransformFunc // drops what nobody looks at
	handler  toolscache.ResourceEventHandler
}

func follow(k kind, log *zap.Logger) (*followed, error) {
	f := &followed{resource: k.resource, log: log, informer: toolscache.NewSharedIndexInformer(k.source, k.example, 0, k.indexers)}
	err := errors.Join(f.informer.SetTransform(k.trim), f.informer.SetWatchErrorHandlerWithContext(f.failed))
	if err == nil && k.handler != nil {
		_, err = f.informer.AddEventHandler(k.handler)
	}
	if err != nil {
		return nil, fmt.Errorf("follow %s: %w", k.resource, err)
	}
	return f, nil
}

// failed is told of each list or watch that ended with an error.
func (f *followed) failed(_ context.Context, _ *toolscache.Reflector, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // watches end like that; the next one goes on
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failure == nil || time.Since(f.failedAt) > failsFor {
		f.log.Warn("cannot follow what rights depend on; changes are noticed late, by reviews alone",
			zap.String("resource", f.resource), zap.Error(err))
	}
	f.failure, f.failedAt = err, time.Now()
}

// state is nil while the objects are followed.
func (f *followed) state() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.failure != nil && time.Since(f.failedAt) <= failsFor:
		return fmt.Errorf("follow %s: %w", f.resource, f.failure)
	case !f.informer.HasSynced():
		return fmt.Errorf("%s were not read yet", f.resource)
	default:
		return nil
	}
}

// run follows all of them until the context ends.
func run(ctx context.Context, all ...*followed) {
	var wait sync.WaitGroup
	for _, f := range all {
		wait.Go(func() { f.informer.RunWithContext(ctx) })
	}
	wait.Wait()
}
