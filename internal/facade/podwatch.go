package facade

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/listfacade/listfacade/internal/rbac"
)

const (
	podWatchLook = 2 * time.Second  // interval at which it is checked whether the watch is still needed
	podWatchIdle = 10 * time.Minute // how long after its last use the watch ends
)

// podWatch watches the metadata of all pods while tokens that are bound to pods need it and pods have no lane.
type podWatch struct {
	create func() (*rbac.Objects, error)
	served func() bool // whether a lane of pods is synced
	log    *zap.Logger
	need   chan struct{} // receives a value when current finds no watch
	used   atomic.Int64  // Unix nanoseconds
	open   atomic.Pointer[rbac.Objects]
}

func newPodWatch(create func() (*rbac.Objects, error), served func() bool, log *zap.Logger) *podWatch {
	return &podWatch{create: create, served: served, log: log, need: make(chan struct{}, 1)}
}

// current returns the pods if their watch is current, otherwise nil. It starts the watch if none is open.
func (p *podWatch) current() *rbac.Objects {
	p.used.Store(time.Now().UnixNano())
	pods := p.open.Load()
	if pods == nil {
		select {
		case p.need <- struct{}{}:
		default: // run has not yet received the last one
		}
		return nil
	}
	if !pods.Current() {
		return nil
	}
	return pods
}

// isCurrent reports whether the watch is current. Unlike current, it does not start or prolong it.
func (p *podWatch) isCurrent() bool {
	pods := p.open.Load()
	return pods != nil && pods.Current()
}

// run watches pods while they are needed, until the context ends.
func (p *podWatch) run(ctx context.Context) {
	for {
		select {
		case <-p.need:
			if !p.served() {
				p.watch(ctx)
			}
		case <-ctx.Done():
			return
		}
	}
}

// watch watches pods until a lane serves them, or no token needs them.
func (p *podWatch) watch(ctx context.Context) {
	pods, err := p.create()
	if err != nil {
		p.log.Error("Failed to create client for pods", zap.Error(err))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	wait.Go(func() { pods.Run(ctx) })
	p.open.Store(pods)
	defer p.open.Store(nil)
	look := time.NewTicker(podWatchLook)
	defer look.Stop()
	for !p.served() && time.Since(time.Unix(0, p.used.Load())) < podWatchIdle {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
