package reflector

import (
	"context"
	"sync"
)

// background runs a lane's work until the lane is stopped. Work does not end with the request that started it.
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

func (b *background) stop() {
	b.stopping.Lock()
	b.stopped = true
	b.stopping.Unlock()
	b.cancel()
	b.work.Wait()
	close(b.done)
}
