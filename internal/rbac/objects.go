package rbac

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// settle is how long a watch must be open before it counts as current. During this time it sends the changes since the
// previous watch.
const settle = time.Second

// Objects watches the UIDs of all objects of one resource of the core group.
type Objects struct {
	all    *followed
	opened *openings
}

// NewObjects returns Objects of a resource, such as pods. It starts no goroutine.
func NewObjects(client metadata.Interface, resource string, log *zap.Logger) (*Objects, error) {
	return newObjects(metadataOf(client, resource), resource, nil, log)
}

func metadataOf(client metadata.Interface, resource string) toolscache.ListerWatcher {
	all := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource})
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return all.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return all.Watch(ctx, options)
		},
	}
}

func newObjects(from toolscache.ListerWatcher, resource string, handler toolscache.ResourceEventHandler,
	log *zap.Logger) (*Objects, error) {
	opened := &openings{}
	all, err := follow(kind{
		resource: resource, example: &metav1.PartialObjectMetadata{}, source: noted{opened, from},
		indexers: toolscache.Indexers{}, trim: trimToUID, handler: handler,
	}, log)
	return &Objects{all: all, opened: opened}, err
}

// Run watches the objects until the context ends.
func (o *Objects) Run(ctx context.Context) { run(ctx, o.all) }

// Current reports whether Find returns what the upstream has now, apart from the delay of the network.
func (o *Objects) Current() bool { return o.all.informer.HasSynced() && o.opened.last(settle) }

// knownSince reports whether Find returns all objects that existed at a time and were not deleted since.
func (o *Objects) knownSince(at time.Time) bool {
	since := o.opened.since.Load()
	return since != nil && !since.Before(at) && o.Current()
}

// Find returns an object by its key: "namespace/name", or "name" without a namespace. It returns false if the object
// does not exist. While Current returns false, the result may be outdated.
func (o *Objects) Find(key string) (serviceaccount.Object, bool) {
	found, ok, err := o.all.informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return serviceaccount.Object{}, false
	}
	meta := found.(*metav1.PartialObjectMetadata)
	object := serviceaccount.Object{UID: string(meta.UID)}
	if meta.DeletionTimestamp != nil {
		object.Deletes = meta.DeletionTimestamp.Time
	}
	return object, true
}

func trimToUID(object any) (any, error) {
	full, ok := object.(*metav1.PartialObjectMetadata)
	if !ok {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: full.Namespace, Name: full.Name, UID: full.UID, ResourceVersion: full.ResourceVersion,
		DeletionTimestamp: full.DeletionTimestamp,
	}}, nil
}

// openings records since when an informer has an open watch.
type openings struct{ since atomic.Pointer[time.Time] } // nil while no watch is open

// last reports whether a watch has been open for at least the given time.
func (o *openings) last(least time.Duration) bool {
	since := o.since.Load()
	return since != nil && time.Since(*since) >= least
}

// noted is a ListerWatcher that records its open watches. It supports no streaming lists: during a streaming list, a
// watch is open, but the informer still has its previous objects.
type noted struct {
	opened *openings
	toolscache.ListerWatcher
}

// IsWatchListSemanticsUnSupported makes informers list before they watch.
func (noted) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext implements toolscache.ListerWithContext.
func (n noted) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	return toolscache.ToListerWithContext(n.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (n noted) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	open, err := toolscache.ToWatcherWithContext(n.ListerWatcher).WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	n.opened.since.Store(new(time.Now()))
	return notedWatch{n.opened, open}, nil
}

// notedWatch is a watch that records its end. An informer stops each watch that has ended.
type notedWatch struct {
	opened *openings
	watch.Interface
}

// Stop implements watch.Interface.
func (w notedWatch) Stop() {
	w.opened.since.Store(nil)
	w.Interface.Stop()
}
