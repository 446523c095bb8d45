package reflector

import (
	"context"
	"sync"
)

// background runs a lane's work until the lane is stopped: its writer, and the requests of its freshness checks. Shared
// work continues after the request that started it has ended.
type background struct {
	life   context.Context // ends when the lane is stopped
	cancel context.CancelFunc
	work   sync.WaitGroup
	done   chan struct{} // closed when all work has ended

	stopping sync.Mutex // guards stopped
	stopped  bool
}

func (b *background) init(life context.Context) {
	b.life, b.cancel = context.WithCancel(life)
	b.done = make(chan struct{})
}

// Start implements fresh.Filler.
func (b *background) Start(work func(context.Context)) bool {
	b.stopping.Lock()
	defer b.stopping.Unlock()
	if !b.stopped {
		b.work.Go(func() { work(b.life) })
	}
	return !b.stopped
}

// stop ends the lane's work and returns when its goroutines have ended.
func (b *background) stop() {
	b.stopping.Lock()
	b.stopped = true
	b.stopping.Unlock()
	b.cancel()
	b.work.Wait()
	close(b.done)
}
