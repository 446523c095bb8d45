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
	podWatchLook = 2 * time.Second  // interval of checks whether the watch is still needed
	podWatchIdle = 10 * time.Minute // time without use after which the watch ends
)

// podWatch watches the metadata of all pods while tokens that are bound to pods need it and no lane of pods is synced.
type podWatch struct {
	create func() (*rbac.Objects, error)
	served func() bool // whether a lane of pods is synced
	log    *zap.Logger
	need   chan struct{} // receives a value when a watch is needed and none is open
	used   atomic.Int64  // last use, in Unix nanoseconds
	open   atomic.Pointer[rbac.Objects]
}

func newPodWatch(create func() (*rbac.Objects, error), served func() bool, log *zap.Logger) *podWatch {
	return &podWatch{create: create, served: served, log: log, need: make(chan struct{}, 1)}
}

// current returns the pods if their watch is current, otherwise nil. If no watch is open, run opens one.
func (p *podWatch) current() *rbac.Objects {
	p.used.Store(time.Now().UnixNano())
	pods := p.open.Load()
	if pods == nil {
		select {
		case p.need <- struct{}{}:
		default: // run has not yet received the previous value
		}
		return nil
	}
	if !pods.Current() {
		return nil
	}
	return pods
}

// isCurrent reports whether the watch is current. Unlike current, it does not keep the watch open.
func (p *podWatch) isCurrent() bool {
	pods := p.open.Load()
	return pods != nil && pods.Current()
}

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

// watch watches pods until a lane serves them or the watch is no longer used.
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
