package reflector

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"
)

// Progress is how far the listing of a lane is.
type Progress struct {
	// Objects have arrived, of Expected: as many as the upstream told, or as there were the last time; 0 when nobody
	// knows. There may be more.
	Objects, Expected int64
	// Left is how long the listing still takes, by an estimate.
	Left time.Duration
}

// Progress tells how far the listing of the lane is; false when it is not being listed.
func (r *Reflector) Progress() (p Progress, listing bool) {
	began := r.fill.began.Load()
	if began == nil {
		return p, false
	}
	return Progress{
		Objects: r.fill.objects.Load(), Expected: cmp.Or(r.fill.expected.Load(), r.fill.before.objects),
		Left: r.fill.remaining(time.Since(*began)),
	}, true
}

// progressEvery is how often a listing that takes long says how far it is.
const progressEvery = 5 * time.Second

// tell logs how far the listing is, from a goroutine of its own, until what it returns is called.
func (w *writer) tell(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				w.tellOnce(time.Since(began))
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

func (w *writer) tellOnce(took time.Duration) {
	p, listing := w.reflector.Progress()
	if !listing {
		return
	}
	said := []zap.Field{zap.Int64("objects", p.Objects), zap.Int64("perSecond", int64(float64(p.Objects)/took.Seconds()))}
	if p.Expected > 0 {
		said = append(said, zap.Int64("of", p.Expected), zap.Duration("left", p.Left.Round(time.Second)))
	}
	w.log.Info("the lane is being filled", said...)
}
