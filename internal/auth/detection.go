package auth

import (
	"context"
	"errors"
	"time"
)

const (
	// detectInterval is how often the authorizers are checked. A check costs as much as a scrape of the metrics.
	detectInterval = time.Minute
	// detectRetry is the delay before a check that is still due is tried again.
	detectRetry = time.Second
	detectWait  = 30 * time.Second // timeout of a check
	// After maxDetectFailures failed reads of the metrics in a row, decisions are no longer shared.
	maxDetectFailures = 3
)

// detection schedules the checks of the upstream's authorizers. Used by one goroutine.
type detection struct {
	next     time.Time // time at which the next check is due
	failures int       // failed reads of the metrics in a row
}

func (r *Reviews) detect(ctx context.Context) {
	ticker := time.NewTicker(detectRetry)
	defer ticker.Stop()
	d := detection{next: time.Now()}
	for {
		switch now := time.Now(); {
		case r.trouble.isOn():
			d.next = now // the upstream may come back with other authorizers
		case !now.Before(d.next):
			r.detectOnce(ctx, &d)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Reviews) detectOnce(ctx context.Context, d *detection) {
	err := DetectAuthorizers(ctx, r.config.Upstream, r.config.Metrics)
	var others *othersError
	var unanswered *strangerError
	switch {
	case ctx.Err() != nil:
		return
	case errors.As(err, &unanswered):
		if time.Since(d.next) >= detectInterval {
			r.stopSharing(err.Error())
		}
		return // the next check is due immediately
	case err == nil:
		r.share()
	case errors.As(err, &others):
		r.stopSharing(err.Error())
	default:
		if d.failures++; r.period() != 0 && d.failures < maxDetectFailures {
			return // the next check is due immediately
		}
		r.stopSharing(err.Error())
	}
	d.next, d.failures = time.Now().Add(detectInterval), 0
}
