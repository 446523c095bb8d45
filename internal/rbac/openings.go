package rbac

import (
	"context"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// settle is how long a watch must be open before it counts as current. During this time, the upstream sends the
// changes since the previous watch.
const settle = time.Second

const (
	// maxAnswer is how long a list, or the opening of a watch, may take, including the retries of client-go. A healthy
	// server answers within seconds.
	maxAnswer = 2 * time.Minute
	// overdue is how long a watch may outlast its timeout. An informer's watch has a timeout of five to ten minutes, after
	// which the upstream ends it. A watch that lasts longer hangs.
	overdue = 30 * time.Second
)

// errHung makes an informer list again.
var errHung = apierrors.NewResourceExpired("the previous watch hung")

// openings records since when an informer has an open watch.
type openings struct {
	since atomic.Pointer[time.Time] // nil while no watch is open
	hung  atomic.Bool               // whether a watch hung since the last list
}

// last reports whether a watch has been open for at least the given time.
func (o *openings) last(least time.Duration) bool {
	since := o.since.Load()
	return since != nil && time.Since(*since) >= least
}

// noted is a ListerWatcher that records its open watches, and ends lists and watches that hang. It supports no
// streaming lists: during a streaming list, a watch is open, but the informer still has its previous objects.
type noted struct {
	opened *openings
	log    *zap.Logger
	toolscache.ListerWatcher
}

// IsWatchListSemanticsUnSupported makes informers list before they watch.
func (noted) IsWatchListSemanticsUnSupported() bool { return true }

// ListWithContext implements toolscache.ListerWithContext.
func (n noted) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	n.opened.hung.Store(false)
	ctx, cancel := context.WithTimeout(ctx, maxAnswer)
	defer cancel()
	return toolscache.ToListerWithContext(n.ListerWatcher).ListWithContext(ctx, options)
}

// WatchWithContext implements toolscache.WatcherWithContext.
func (n noted) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if n.opened.hung.Swap(false) {
		return nil, errHung
	}
	ctx, cancel := context.WithCancel(ctx)
	hangs := time.AfterFunc(maxAnswer, func() {
		n.log.Warn("Watch hangs, or was not opened in time; listing again")
		n.opened.hung.Store(true)
		cancel()
	})
	open, err := toolscache.ToWatcherWithContext(n.ListerWatcher).WatchWithContext(ctx, options)
	w := notedWatch{opened: n.opened, hangs: hangs, cancel: cancel, Interface: open}
	if err != nil {
		w.release()
		return nil, err
	}
	if seconds := options.TimeoutSeconds; seconds != nil {
		hangs.Reset(time.Duration(*seconds)*time.Second + overdue)
	} else {
		hangs.Stop()
	}
	n.opened.since.Store(new(time.Now()))
	return w, nil
}

// notedWatch is a watch that records its end. An informer stops each watch that has ended.
type notedWatch struct {
	opened *openings
	hangs  *time.Timer // ends the watch
	cancel context.CancelFunc
	watch.Interface
}

// Stop implements watch.Interface.
func (w notedWatch) Stop() {
	w.opened.since.Store(nil)
	w.release()
	w.Interface.Stop()
}

func (w notedWatch) release() {
	w.hangs.Stop()
	w.cancel()
}
