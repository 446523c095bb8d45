package rbac

import (
	"context"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/listfacade/listfacade/internal/serviceaccount"
)

// Objects watches the UIDs of all objects of one resource of the core group.
type Objects struct{ all *followed }

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
	all, err := follow(kind{
		resource: resource, example: &metav1.PartialObjectMetadata{}, source: from,
		indexers: toolscache.Indexers{}, trim: trimToUID, handler: handler,
	}, log)
	return &Objects{all: all}, err
}

// Run watches the objects until the context ends.
func (o *Objects) Run(ctx context.Context) { run(ctx, o.all) }

// Current reports whether Find returns what the upstream has now, apart from the delay of the network.
func (o *Objects) Current() bool { return o.all.current() }

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
