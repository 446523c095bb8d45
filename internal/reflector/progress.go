package reflector

import (
	"cmp"
	"context"
	"time"

	"go.uber.org/zap"
)

// Progress is the progress of a lane's list.
type Progress struct {
	// Objects is the number of objects received. Expected is the number that the upstream announced, or else the number in
	// the last list; 0 if both are unknown. Objects may exceed Expected.
	Objects, Expected int64
	// Left is the estimated remaining time of the list.
	Left time.Duration
}

// Progress returns the progress of the lane's list. listing is false if the lane is not being listed.
func (l *lane) Progress() (p Progress, listing bool) {
	began := l.fill.began.Load()
	if began == nil {
		return p, false
	}
	return Progress{
		Objects: l.fill.objects.Load(), Expected: cmp.Or(l.fill.expected.Load(), l.fill.before.objects),
		Left: l.fill.remaining(time.Since(*began)),
	}, true
}

const progressEvery = 5 * time.Second

// logProgress logs the progress of the list in a goroutine. The returned function ends the goroutine.
func (l *lane) logProgress(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case <-tick.C:
				l.logProgressOnce(time.Since(began))
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}

func (l *lane) logProgressOnce(took time.Duration) {
	p, listing := l.Progress()
	if !listing {
		return
	}
	fields := []zap.Field{zap.Int64("objects", p.Objects),
		zap.Int64("perSecond", int64(float64(p.Objects)/took.Seconds()))}
	if p.Expected > 0 {
		fields = append(fields, zap.Int64("expected", p.Expected), zap.Duration("remaining", p.Left.Round(time.Second)))
	}
	l.log.Info("Filling lane", fields...)
}
