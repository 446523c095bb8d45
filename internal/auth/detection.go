package auth

import (
	"context"
	"errors"
	"time"
)

const (
	// detectInterval is how often the authorizers are checked. A check costs kube-apiserver what a scrape by Prometheus
	// costs it.
	detectInterval = time.Minute
	// detectRetry is the time between checks while one is due but the upstream does not answer.
	detectRetry = time.Second
	// detectWait bounds a check.
	detectWait = 30 * time.Second
	// maxDetectFailures is the number of checks in a row that must fail to end the sharing of decisions.
	maxDetectFailures = 3
)

// detection schedules the checks of the upstream's authorizers. Used by one goroutine.
type detection struct {
	next     time.Time // time at which the next check is due
	failures int       // checks in a row that failed
}

// detect checks the authorizers of the upstream until the context ends, and adapts the sharing of decisions.
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
